// Regions over a photo: pointing, focusing or tapping one shows what it is; a click or Enter keeps it.

export function explore(looked) {
  const stage = looked.querySelector(".stage");
  const svg = stage.querySelector("svg");
  const regions = [...svg.querySelectorAll(".region")];
  const halo = svg.querySelector(".halo");
  const details = looked.querySelector("#details");
  const hint = details.cloneNode(true);
  let kept = regions.find((region) => region.getAttribute("aria-pressed") === "true") ?? null;

  function show(region) {
    for (const one of regions) one.classList.toggle("shown", one === region);
    halo.setAttribute("d", region?.getAttribute("d") ?? "");
    if (!region) return details.replaceChildren(...hint.cloneNode(true).childNodes);
    const words = looked.querySelector(`[data-words="${region.dataset.region}"]`).cloneNode(true);
    words.removeAttribute("data-words");
    details.replaceChildren(words);
  }

  function keep(region) {
    kept = kept === region ? null : region;
    for (const one of regions) one.setAttribute("aria-pressed", String(one === kept));
    show(kept ?? region);
  }

  function centre(region) {
    const { x, y, width, height } = region.getBBox();
    return [x + width / 2, y + height / 2];
  }

  // The nearest region whose centre lies that way, distance across counted double.
  function towards(from, [dx, dy]) {
    const [x, y] = centre(from);
    let best = null, least = Infinity;
    for (const one of regions) {
      const [a, b] = centre(one);
      const along = (a - x) * dx + (b - y) * dy;
      const across = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
      if (one !== from && along > 0 && along >= across / 2 && along + 2 * across < least) [best, least] = [one, along + 2 * across];
    }
    return best;
  }

  function focus(region) {
    for (const one of regions) one.tabIndex = one === region ? 0 : -1;
    region.focus();
  }

  const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  // On the stage: a browser lets an SVG that listens to focus be focused itself.
  stage.addEventListener("pointerover", ({ target }) => { if (target.matches(".region")) show(target); });
  stage.addEventListener("pointerleave", () => show(kept ?? (stage.contains(document.activeElement) ? document.activeElement : null)));
  stage.addEventListener("focusin", ({ target }) => show(target));
  stage.addEventListener("focusout", ({ relatedTarget }) => { if (!stage.contains(relatedTarget)) show(kept); });
  stage.addEventListener("click", ({ target }) => { if (target.matches(".region")) keep(target); });
  stage.addEventListener("keydown", (event) => {
    if (event.key in WAYS) {
      const next = towards(event.target, WAYS[event.key]);
      if (next) focus(next);
    } else if (event.key === "Enter" || event.key === " ") keep(event.target);
    else return;
    event.preventDefault();
  });
  function hide(box, outline) {
    box.addEventListener("change", () => outline.classList.toggle("off", !box.checked));
  }
  for (const box of looked.querySelectorAll("[data-toggle]")) hide(box, svg.querySelector(`[data-object="${box.dataset.toggle}"]`));
  for (const box of looked.querySelectorAll("[data-toggle-searched]")) hide(box, svg.querySelector(`[data-searched="${box.dataset.toggleSearched}"]`));
  if (kept) show(kept);
}
