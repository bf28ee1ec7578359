// Reads vitest's JSON reports, coverage/results-KIND.json and, where tests ran a second time,
// coverage/again-KIND.json. KIND is "short" or "long".
//   summary.mjs failed KIND   prints the files with failing tests, one a line
//   summary.mjs STATUS        prints "N passed, N failed"; a run that failed without a failing test
//                             (verify, a crash, a report that is missing) counts as one failure
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

const KINDS = ["short", "long"];
const [command, kind] = process.argv.slice(2);

if (command === "failed") {
  const failed = testsOf(`coverage/results-${kind}.json`)?.filter(hasFailed) ?? [];
  for (const file of new Set(failed.map(({ file }) => file))) console.log(file);
} else {
  summarize(command === "0");
}

function summarize(isWhole) {
  let [passed, failed] = [0, 0];
  let areThere = true;
  for (const kind of KINDS) {
    const tests = testsOf(`coverage/results-${kind}.json`);
    const again = testsOf(`coverage/again-${kind}.json`) ?? [];
    areThere &&= tests !== undefined;
    for (const test of tests ?? []) {
      if (test.status === "passed") passed += 1;
      if (!hasFailed(test)) continue;
      if (again.some(({ file, name, status }) => isSame(test, file, name) && status === "passed")) {
        console.log(
          `UNSTEADY, failed among other tests and passed alone: ${test.file} > ${test.name}`,
        );
        passed += 1;
      } else {
        failed += 1;
      }
    }
  }
  if (failed === 0 && !(isWhole && areThere)) failed = 1;
  console.log(`${passed} passed, ${failed} failed`);
}

function testsOf(path) {
  if (!existsSync(path)) return undefined;
  const { testResults } = JSON.parse(readFileSync(path, "utf8"));
  return testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults.map(({ fullName: name, status }) => ({
      file: relative(process.cwd(), file),
      name,
      status,
    })),
  );
}

function hasFailed({ status }) {
  return status === "failed";
}

function isSame(test, file, name) {
  return test.file === file && test.name === name;
}
