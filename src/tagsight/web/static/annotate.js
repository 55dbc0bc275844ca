// The annotate page: a photo dropped, pasted or chosen is sent, looked at, and shown with its regions.

import { explore } from "./regions.js";

const drop = document.getElementById("drop");
const input = document.getElementById("file");
const status = document.getElementById("status");
const problem = document.getElementById("problem");
const answer = document.getElementById("answer");
const saving = document.getElementById("saving");
let photo = null;
let address = "";
let turn = 0;

function complain(text) {
  problem.textContent = text;
  problem.hidden = !text;
  status.textContent = "";
}

async function explain(response) {
  const text = await response.text();
  if (response.headers.get("content-type")?.startsWith("text/html"))
    return new DOMParser().parseFromString(text, "text/html").getElementById("problem")?.textContent ?? response.statusText;
  return text;
}

async function look(file) {
  const mine = ++turn;
  complain("");
  saving.hidden = true;
  answer.replaceChildren();
  if (file.size > Number(drop.dataset.largest)) return complain(`${file.name} is larger than ${drop.dataset.largest / 1048576} MB.`);
  status.textContent = `Looking at ${file.name} …`;
  let response;
  try {
    response = await fetch("/annotate", { method: "POST", body: file, headers: { "content-type": "application/octet-stream" } });
  } catch {
    return complain("The server cannot be reached.");
  }
  if (mine !== turn) return;
  if (!response.ok) return complain(await explain(response));
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const looked = document.adoptNode(page.querySelector("[data-looked]"));
  URL.revokeObjectURL(address);
  address = URL.createObjectURL(file);
  const picture = looked.querySelector("img.photo");
  picture.src = address;
  picture.alt = file.name;
  answer.replaceChildren(looked);
  explore(looked);
  photo = file;
  saving.hidden = false;
  drop.classList.add("done");
  status.textContent = `${file.name}: ${looked.querySelectorAll(".region").length} regions.`;
  answer.focus();
}

async function save(button) {
  const response = await fetch(button.dataset.post, { method: "POST", body: photo, headers: { "content-type": "application/octet-stream" } });
  if (!response.ok) return complain(JSON.parse(await response.text()).detail);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = button.dataset.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

input.addEventListener("change", () => { if (input.files.length) look(input.files[0]); });
for (const name of ["dragover", "dragenter"])
  document.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
document.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  const file = event.dataTransfer.files[0];
  if (file) look(file);
});
document.addEventListener("paste", (event) => {
  const file = event.clipboardData?.files[0];
  if (file) look(file);
});
for (const button of saving.querySelectorAll("button")) button.addEventListener("click", () => save(button));
