// The search page: suggestions, results that follow the slider, photos that keep coming until the threshold.

import { suggest } from "./suggest.js";

const form = document.getElementById("search");
const query = document.getElementById("q");
const slider = document.getElementById("threshold");
const shown = document.getElementById("threshold-shown");
let asked = 0;
let waiting;

const options = [...document.querySelectorAll("#words option")].map(({ value, label }) => ({ value, kind: label }));
const suggestions = suggest(query, options, () => ask());

async function fetchPage(url) {
  const response = await fetch(url);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

async function ask() {
  clearTimeout(waiting);
  const turn = ++asked;
  const url = `/?${new URLSearchParams(new FormData(form))}`;
  const results = document.getElementById("results");
  results.setAttribute("aria-busy", "true");
  const page = await fetchPage(url);
  if (turn !== asked) return;
  results.replaceWith(document.adoptNode(page.getElementById("results")));
  document.title = page.title;
  history.replaceState(null, "", url);
  follow();
}

async function extend(link) {
  const turn = asked;
  const page = await fetchPage(link.href);
  if (turn !== asked || !link.isConnected) return;
  document.getElementById("grid").append(...page.querySelectorAll("#grid > li"));
  link.closest(".end").replaceWith(document.adoptNode(page.querySelector(".end")));
  follow();
}

const watch = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries)
    if (isIntersecting) { watch.unobserve(target); extend(target); }
}, { rootMargin: "600px" });

function follow() {
  watch.disconnect();
  const more = document.getElementById("more");
  if (more) watch.observe(more);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  suggestions.close();
  ask();
});
slider.addEventListener("input", () => {
  shown.value = `${Math.round(100 * slider.value)}%`;
  clearTimeout(waiting);
  waiting = setTimeout(ask, 150);
});
follow();
