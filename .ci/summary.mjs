// Prints "N passed, N failed" from vitest's JSON reports. A run that failed without a failing test
// (verify, a crash, a report that is missing) counts as one failure.
import { existsSync, readFileSync } from "node:fs";

const [status, ...files] = process.argv.slice(2);
let [passed, failed] = [0, 0];
let isWhole = status === "0";
for (const file of files) {
  if (existsSync(file)) {
    const report = JSON.parse(readFileSync(file, "utf8"));
    passed += report.numPassedTests;
    failed += report.numFailedTests;
  } else {
    isWhole = false;
  }
}
if (failed === 0 && !isWhole) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
