// The page of one photo.

import { enableRegions } from "./regions.js";

enableRegions(document.querySelector("[data-annotation]"));
