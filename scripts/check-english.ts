/**
 * Lists each line whose English has a banned shape (`npm run verify:english`). Arguments: files or
 * folders; without them, everything under version control. Exit code 1: there are such lines.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { BANNED_SHAPES } from "./english/banned-shapes.js";
import { englishLines } from "./english/english-lines.js";

const READ = /\.(?:ts|tsx|mjs|md|sh|py|go|java|php|yml|json)$/;
/** They name the shapes, or are written by others. */
const LEFT_OUT = [
  "scripts/english/",
  "bin/LICENSES",
  "test/doors/redis/recording/",
  "package-lock.json",
];

const listed = execFileSync("git", ["ls-files", "-z", "--", ...process.argv.slice(2)]);
const paths = listed
  .toString()
  .split("\0")
  .filter((path) => READ.test(path));
let count = 0;
for (const path of paths) {
  if (LEFT_OUT.some((start) => path.startsWith(start))) continue;
  for (const { line, text } of englishLines(path, readFileSync(path, "utf8"))) {
    for (const { name, pattern, instead } of BANNED_SHAPES) {
      if (!pattern.test(text)) continue;
      count += 1;
      console.log(`${path}:${line}: ${name} (write: ${instead})\n    ${text}`);
    }
  }
}
if (count > 0) console.log(`${count} lines`);
process.exitCode = count > 0 ? 1 : 0;
