// The photo page.

import { explore } from "./regions.js";

explore(document.querySelector("[data-looked]"));
