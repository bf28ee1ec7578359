/** Writes the page that nodes serve to `dist/dashboard`: a part of `npm run build`. */
import { fileURLToPath } from "node:url";
import { bundleDashboard } from "./dashboard-bundle.js";

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

await bundleDashboard(pathOf("../dashboard"), pathOf("../dist/dashboard"));
