/** Writes the `holdfast` command to `dist/bin`: a part of `npm run build`. */
import { fileURLToPath } from "node:url";
import { bundleCommand } from "./command-bundle.js";

const root = fileURLToPath(new URL("../", import.meta.url));

await bundleCommand({ root, target: `${root}dist/bin` });
