/**
 * Every example of the documents that are written for users: correct TypeScript against the package
 * as it is published, and run to its end against a cluster of real processes. `document-page.ts`
 * says how a page marks its blocks.
 */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { type CodeBlock, expectedOutput, isAsExpected } from "./document-page.js";
import { DocumentProject, type RunResult, readBlocks } from "./document-project.js";

const PLACES = ["README.md", "docs/coding", "docs/migration", "docs/reference"];

const blocks = readBlocks(PLACES).filter(({ words }) => !words.includes("unchecked"));
const programs = blocks.filter(({ language }) => language === "ts");
/** The reference of the command line shows commands one by one, with operands that stand for others. */
const scripts = blocks.filter(({ language, page, words }) => {
  return language === "sh" && !words.includes("no-run") && !page.startsWith("docs/reference/cli");
});

let cluster: ClusterProcess;
let project: DocumentProject;

beforeAll(async () => {
  project = await DocumentProject.create(programs);
  cluster = await startCluster();
});

afterAll(async () => {
  await project?.remove();
  await cluster?.stop();
});

function titleOf({ page, line }: CodeBlock): string {
  return `${page}:${line}`;
}

function expectSuccess(block: CodeBlock, { code, stdout, stderr }: RunResult): void {
  expect(code, `${titleOf(block)} failed:\n${stdout}${stderr}`).toBe(0);
  const printed = stdout.split("\n").filter((line) => line !== "");
  const expected = expectedOutput(block);
  if (expected.length === 0) return;
  const matches = expected.map((text, at) => isAsExpected(printed[at] ?? "", text));
  const isAll = printed.length === expected.length && !matches.includes(false);
  expect(isAll ? expected : printed, `${titleOf(block)} printed`).toEqual(expected);
}

describe("an example in TypeScript is what the compiler takes and a program that ends well", () => {
  test.each(programs.map((block) => [titleOf(block), block] as const))("%s", async (_, block) => {
    expect(project.diagnosticsOf(block)).toEqual([]);
    if (block.words.includes("no-run")) return;
    expectSuccess(block, await project.run(block, cluster.endpoints));
  });
});

test.each(["README.md", "docs/coding/first-lock.md"])(
  "the first sample of %s is what Node.js 20 takes as it stands there",
  (page) => {
    const [first] = programs.filter((block) => block.page === page);
    const words = ["--input-type=module", "--check"];
    const { status, stderr } = spawnSync(process.execPath, words, {
      input: first?.lines.join("\n") ?? "await using missing = sample;",
      encoding: "utf8",
    });
    expect(status, stderr).toBe(0);
  },
);

describe("an example for the shell runs", () => {
  test.each(scripts.map((block) => [titleOf(block), block] as const))("%s", async (_, block) => {
    expectSuccess(block, await project.run(block, cluster.endpoints));
  });
});
