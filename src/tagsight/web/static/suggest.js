// Suggestions for the word at the caret; the query has several, so the browser's own list, which completes it whole, will not do.

const MOST = 8;
const WORD = /(^|[\s,])(-?"?)([^\s,"]*)$/;

export function suggest(input, words, onChoose) {
  const list = document.createElement("ul");
  list.id = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Known words");
  list.hidden = true;
  input.after(list);
  input.removeAttribute("list");
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id }))
    input.setAttribute(name, value);
  let active = -1;

  const close = () => show([]);
  const before = () => input.value.slice(0, input.selectionStart ?? input.value.length);

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
    const head = before().replace(WORD, (_, gap, mark) => gap + mark.replace('"', "") + (/\s/.test(value) ? `"${value}"` : value) + " ");
    const tail = input.value.slice(before().length).replace(/^[^\s,]*\s?/, "");
    input.value = head + tail;
    input.setSelectionRange(head.length, head.length);
    close();
    onChoose();
  }

  input.addEventListener("input", () => {
    const typed = before().match(WORD)?.[3].toLowerCase() ?? "";
    const starts = words.filter(({ value }) => value.startsWith(typed));
    const holds = words.filter(({ value }) => !value.startsWith(typed) && value.includes(typed));
    const found = typed ? [...starts, ...holds].slice(0, MOST) : [];
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
