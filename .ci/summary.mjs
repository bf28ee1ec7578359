// Prints "N passed, N failed" from vitest's JSON report. A run that failed without a failing test
// (verify, a crash, no report) counts as one failure.
import { existsSync, readFileSync } from "node:fs";

const [file, status] = process.argv.slice(2);
const report = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
const passed = report?.numPassedTests ?? 0;
let failed = report?.numFailedTests ?? 0;
if (failed === 0 && status !== "0") failed = 1;
console.log(`${passed} passed, ${failed} failed`);
