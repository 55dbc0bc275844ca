// The search page: suggests words, updates the results when the slider moves, and loads more photos on scrolling.

import { addSuggestions } from "./suggest.js";

const form = document.getElementById("search");
const query = document.getElementById("q");
const slider = document.getElementById("threshold");
const thresholdShown = document.getElementById("threshold-shown");
let nSearches = 0;
let timer;

const options = [...document.querySelectorAll("#words option")].map(({ value, label }) => ({ value, kind: label }));
const suggestions = addSuggestions(query, options, () => search());

async function fetchPage(url) {
  try {
    const response = await fetch(url);
    return new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    const page = document.implementation.createHTMLDocument("Search");
    page.body.append(makeNotice("The server does not answer. Try again in a moment."));
    return page;
  }
}

function makeNotice(text) {
  const notice = document.createElement("p");
  notice.id = "problem";
  notice.className = "notice";
  notice.setAttribute("role", "alert");
  notice.textContent = text;
  return notice;
}

// A part of a fetched page. If the page lacks it, as error pages do, `wrapper` with the problem of that page.
function extract(page, selector, wrapper) {
  const found = page.querySelector(selector);
  if (found) return document.adoptNode(found);
  wrapper.replaceChildren(makeNotice(page.getElementById("problem")?.textContent ?? "The search failed. Try again in a moment."));
  return wrapper;
}

async function search() {
  clearTimeout(timer);
  const number = ++nSearches;
  const url = `/?${new URLSearchParams(new FormData(form))}`;
  const results = document.getElementById("results");
  results.setAttribute("aria-busy", "true");
  const page = await fetchPage(url);
  if (number !== nSearches) return;
  const empty = document.createElement("div");
  empty.id = "results";
  results.replaceWith(extract(page, "#results", empty));
  document.title = page.title;
  history.replaceState(null, "", url);
  observeMore();
}

async function loadMore(link) {
  const number = nSearches;
  const page = await fetchPage(link.href);
  if (number !== nSearches || !link.isConnected) return;
  document.getElementById("grid").append(...page.querySelectorAll("#grid > li"));
  const empty = document.createElement("div");
  empty.className = "end";
  link.closest(".end").replaceWith(extract(page, ".end", empty));
  observeMore();
}

const observer = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries)
    if (isIntersecting) { observer.unobserve(target); loadMore(target); }
}, { rootMargin: "600px" });

function observeMore() {
  observer.disconnect();
  const more = document.getElementById("more");
  if (more) observer.observe(more);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  suggestions.close();
  search();
});
slider.addEventListener("input", () => {
  thresholdShown.value = `${Math.round(100 * slider.value)}%`;
  clearTimeout(timer);
  timer = setTimeout(search, 150);
});
observeMore();
