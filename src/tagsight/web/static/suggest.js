// Suggestions for the word at the caret. The list of the browser completes the whole input, and a query has several words.

const MAX_SUGGESTIONS = 8;
const WORD = /(^|[\s,])(-?"?)([^\s,"]*)$/;

export function addSuggestions(input, words, onChoose) {
  const list = document.createElement("ul");
  list.id = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggested words");
  list.hidden = true;
  input.after(list);
  input.removeAttribute("list");
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id }))
    input.setAttribute(name, value);
  let active = -1;

  const close = () => show([]);
  const textBeforeCaret = () => input.value.slice(0, input.selectionStart ?? input.value.length);

  function show(found) {
    active = -1;
    list.replaceChildren(...found.map(({ value, kind }, i) => {
      const option = document.createElement("li");
      option.id = `suggestion-${i}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.dataset.value = value;
      const name = document.createElement("span");
      name.textContent = value;
      const note = document.createElement("span");
      note.className = "quiet";
      note.textContent = kind;
      option.append(name, note);
      option.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(i); });
      return option;
    }));
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    input.removeAttribute("aria-activedescendant");
  }

  function move(step) {
    const options = [...list.children];
    if (!options.length) return;
    active = (active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length;
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === active)));
    options[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[active].id);
  }

  function choose(i) {
    const value = list.children[i].dataset.value;
    const head = textBeforeCaret().replace(WORD, (_, gap, mark) => gap + mark.replace('"', "") + (/\s/.test(value) ? `"${value}"` : value) + " ");
    const tail = input.value.slice(textBeforeCaret().length).replace(/^[^\s,]*\s?/, "");
    input.value = head + tail;
    input.setSelectionRange(head.length, head.length);
    close();
    onChoose();
  }

  input.addEventListener("input", () => {
    const typed = textBeforeCaret().match(WORD)?.[3].toLowerCase() ?? "";
    const starts = words.filter(({ value }) => value.startsWith(typed));
    const contains = words.filter(({ value }) => !value.startsWith(typed) && value.includes(typed));
    const found = typed ? [...starts, ...contains].slice(0, MAX_SUGGESTIONS) : [];
    show(found.length === 1 && found[0].value === typed ? [] : found);
  });
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Enter" && active >= 0) choose(active);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  input.addEventListener("blur", close);
  return { close };
}
