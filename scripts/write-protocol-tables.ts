/** `npm run docs:protocol`: makes the tables of the pages that describe bytes again. */
import { readFile, writeFile } from "node:fs/promises";
import { withTables } from "./page-tables.js";
import { PEER_TABLES } from "./peer-tables.js";
import { PROTOCOL_TABLES } from "./protocol-tables.js";

for (const [name, tables] of [
  ["docs/protocol.md", PROTOCOL_TABLES],
  ["docs/internals/peer-links.md", PEER_TABLES],
] as const) {
  const page = new URL(`../${name}`, import.meta.url);
  await writeFile(page, withTables(await readFile(page, "utf8"), tables));
}
