/** `npm run docs:cli`: writes docs/reference/cli.md. */
import { writeFile } from "node:fs/promises";
import { cliReference } from "./cli-reference.js";

await writeFile(new URL("../docs/reference/cli.md", import.meta.url), await cliReference());
