// The annotate page: uploads a photo that is dropped, pasted or chosen, and displays its regions.

import { enableRegions } from "./regions.js";

const drop = document.getElementById("drop");
const input = document.getElementById("file");
const status = document.getElementById("status");
const problem = document.getElementById("problem");
const answer = document.getElementById("answer");
const saving = document.getElementById("saving");
let photo = null;
let photoUrl = "";
let nUploads = 0;

function showProblem(text) {
  problem.textContent = text;
  problem.hidden = !text;
  status.textContent = "";
}

// The server answers with a page that contains the problem, or with plain text.
async function readProblem(response) {
  const text = await response.text();
  if (response.headers.get("content-type")?.startsWith("text/html"))
    return new DOMParser().parseFromString(text, "text/html").getElementById("problem")?.textContent ?? response.statusText;
  return text;
}

async function annotate(file) {
  const upload = ++nUploads;
  showProblem("");
  saving.hidden = true;
  answer.replaceChildren();
  if (file.size > Number(drop.dataset.maxBytes)) return showProblem(`${file.name} is larger than ${drop.dataset.maxBytes / 1048576} MB. Choose a smaller file.`);
  status.textContent = `Annotating ${file.name} …`;
  let response;
  try {
    response = await fetch("/annotate", { method: "POST", body: file, headers: { "content-type": "application/octet-stream" } });
  } catch {
    return showProblem("The server does not answer. Try again in a moment.");
  }
  if (upload !== nUploads) return;
  if (!response.ok) return showProblem(await readProblem(response));
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const annotation = document.adoptNode(page.querySelector("[data-annotation]"));
  URL.revokeObjectURL(photoUrl);
  photoUrl = URL.createObjectURL(file);
  const image = annotation.querySelector("img.photo");
  image.src = photoUrl;
  image.alt = file.name;
  answer.replaceChildren(annotation);
  enableRegions(annotation);
  photo = file;
  saving.hidden = false;
  drop.classList.add("done");
  status.textContent = `${file.name} has ${annotation.querySelectorAll(".region").length} regions.`;
  answer.focus();
}

async function save(button) {
  const response = await fetch(button.dataset.post, { method: "POST", body: photo, headers: { "content-type": "application/octet-stream" } });
  if (!response.ok) return showProblem(JSON.parse(await response.text()).detail);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = button.dataset.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

input.addEventListener("change", () => { if (input.files.length) annotate(input.files[0]); });
for (const name of ["dragover", "dragenter"])
  document.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
document.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  const file = event.dataTransfer.files[0];
  if (file) annotate(file);
});
document.addEventListener("paste", (event) => {
  const file = event.clipboardData?.files[0];
  if (file) annotate(file);
});
for (const button of saving.querySelectorAll("button")) button.addEventListener("click", () => save(button));
