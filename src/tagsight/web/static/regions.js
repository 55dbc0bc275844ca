// Regions over a photo: pointing at, focusing or tapping a region shows its words; a click or Enter selects it.

const DIRECTIONS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

export function enableRegions(annotation) {
  const stage = annotation.querySelector(".stage");
  const svg = stage.querySelector("svg");
  const regions = [...svg.querySelectorAll(".region")];
  const selection = svg.querySelector(".selection");
  const details = annotation.querySelector("#details");
  const hint = details.cloneNode(true);
  let selected = regions.find((region) => region.getAttribute("aria-pressed") === "true") ?? null;

  function show(region) {
    for (const one of regions) one.classList.toggle("shown", one === region);
    selection.setAttribute("d", region?.getAttribute("d") ?? "");
    if (!region) return details.replaceChildren(...hint.cloneNode(true).childNodes);
    const words = annotation.querySelector(`[data-words="${region.dataset.region}"]`).cloneNode(true);
    words.removeAttribute("data-words");
    details.replaceChildren(words);
  }

  function toggleSelected(region) {
    selected = selected === region ? null : region;
    for (const one of regions) one.setAttribute("aria-pressed", String(one === selected));
    show(selected ?? region);
  }

  function focus(region) {
    for (const one of regions) one.tabIndex = one === region ? 0 : -1;
    region.focus();
  }

  // The listeners are on the stage, because browsers make an SVG focusable that listens to focus itself.
  stage.addEventListener("pointerover", ({ target }) => { if (target.matches(".region")) show(target); });
  stage.addEventListener("pointerleave", () => show(selected ?? (stage.contains(document.activeElement) ? document.activeElement : null)));
  stage.addEventListener("focusin", ({ target }) => show(target));
  stage.addEventListener("focusout", ({ relatedTarget }) => { if (!stage.contains(relatedTarget)) show(selected); });
  stage.addEventListener("click", ({ target }) => { if (target.matches(".region")) toggleSelected(target); });
  stage.addEventListener("keydown", (event) => {
    if (event.key in DIRECTIONS) {
      const next = findNeighbour(regions, event.target, DIRECTIONS[event.key]);
      if (next) focus(next);
    } else if (event.key === "Enter" || event.key === " ") toggleSelected(event.target);
    else return;
    event.preventDefault();
  });
  for (const checkbox of annotation.querySelectorAll("[data-toggle]"))
    connectCheckbox(checkbox, svg.querySelector(`[data-object="${checkbox.dataset.toggle}"]`));
  for (const checkbox of annotation.querySelectorAll("[data-toggle-searched]"))
    connectCheckbox(checkbox, svg.querySelector(`[data-searched="${checkbox.dataset.toggleSearched}"]`));
  if (selected) show(selected);
}

// Browsers restore the state of checkboxes on a reload, so the outline follows the checkbox from the start.
function connectCheckbox(checkbox, outline) {
  const update = () => outline.classList.toggle("off", !checkbox.checked);
  checkbox.addEventListener("change", update);
  update();
}

function findCentre(region) {
  const { x, y, width, height } = region.getBBox();
  return [x + width / 2, y + height / 2];
}

// The region with the nearest centre in a direction; the distance across the direction counts double.
function findNeighbour(regions, from, [dx, dy]) {
  const [x, y] = findCentre(from);
  let best = null, shortest = Infinity;
  for (const region of regions) {
    const [a, b] = findCentre(region);
    const along = (a - x) * dx + (b - y) * dy;
    const across = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
    if (region !== from && along > 0 && along >= across / 2 && along + 2 * across < shortest)
      [best, shortest] = [region, along + 2 * across];
  }
  return best;
}
