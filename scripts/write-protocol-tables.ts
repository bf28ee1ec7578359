/** `npm run docs:protocol`: makes the tables of docs/protocol.md again. */
import { readFile, writeFile } from "node:fs/promises";
import { withTables } from "./protocol-tables.js";

const page = new URL("../docs/protocol.md", import.meta.url);
await writeFile(page, withTables(await readFile(page, "utf8")));
