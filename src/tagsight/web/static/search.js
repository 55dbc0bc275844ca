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
  try {
    const response = await fetch(url);
    return new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    const page = document.implementation.createHTMLDocument("Search");
    page.body.append(explain("The server does not answer. Try again in a moment."));
    return page;
  }
}

function explain(text) {
  const notice = document.createElement("p");
  notice.id = "problem";
  notice.className = "notice";
  notice.setAttribute("role", "alert");
  notice.textContent = text;
  return notice;
}

// The part of a page that takes the place of one here; on a page that has none, such as an error's, its sentence.
function pick(page, selector, wrapper) {
  const found = page.querySelector(selector);
  if (found) return document.adoptNode(found);
  wrapper.replaceChildren(explain(page.getElementById("problem")?.textContent ?? "That did not work."));
  return wrapper;
}

async function ask() {
  clearTimeout(waiting);
  const turn = ++asked;
  const url = `/?${new URLSearchParams(new FormData(form))}`;
  const results = document.getElementById("results");
  results.setAttribute("aria-busy", "true");
  const page = await fetchPage(url);
  if (turn !== asked) return;
  const empty = document.createElement("div");
  empty.id = "results";
  results.replaceWith(pick(page, "#results", empty));
  document.title = page.title;
  history.replaceState(null, "", url);
  follow();
}

async function extend(link) {
  const turn = asked;
  const page = await fetchPage(link.href);
  if (turn !== asked || !link.isConnected) return;
  document.getElementById("grid").append(...page.querySelectorAll("#grid > li"));
  const empty = document.createElement("div");
  empty.className = "end";
  link.closest(".end").replaceWith(pick(page, ".end", empty));
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
