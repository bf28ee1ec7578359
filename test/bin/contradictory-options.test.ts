/**
 * Options that cannot be right, alone or together: `config print` says of them what a start says, and
 * a start of a local cluster says it before anything runs or is written.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type CliOptions, type CliResult, runCli } from "../e2e/world/command-line.js";

/** What it said, without its values. */
async function wordsOf(args: readonly string[], options?: CliOptions): Promise<string> {
  const { code, stderr }: CliResult = await runCli(args, options);
  expect([args, code]).toEqual([args, 2]);
  return stderr;
}

function vacantDirectory(): string {
  const parent = mkdtempSync(join(tmpdir(), "holdfast-options-"));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  return join(parent, "data");
}

const ONE = "--initial-cluster=1=127.0.0.1:7511";

test.each<readonly [readonly string[], string]>([
  [[ONE, "--allow-origin=*"], '--allow-origin "*" would let the pages of any site in'],
  [[ONE, "--metrics-prefix=other"], '--metrics-prefix "other" is what all other keys are'],
  [[ONE, "--listen=0.0.0.0:7411"], "--listen 0.0.0.0:7411 is open to other machines"],
  [["--initial-cluster=2=127.0.0.1:7511"], "--id 1 is not in --initial-cluster (2)"],
  [[], "give --initial-cluster to found a cluster, or --join to join one"],
])("config print refuses server %j with the words of a start", async (given, said) => {
  const data = vacantDirectory();
  const args = ["server", "--id=1", `--data=${data}`, ...given];
  const printed = await wordsOf(["config", "print", ...args]);
  expect(printed).toContain(said);
  expect(await wordsOf(args)).toBe(printed);
  expect(existsSync(data)).toBe(false);
});

test("config print judges what is given of a node whose id is not", async () => {
  const said = await wordsOf(["config", "print", "server", "--allow-origin=null"]);
  expect(said).toContain('--allow-origin "null" would let the pages of any site in');
});

test.each<readonly [readonly string[], string]>([
  [["--redis", "--redis-fair", "--redis-redlock"], "--redis-fair and --redis-redlock exclude each"],
  [["--allow-origin=https://a.example:443"], "would never match: browsers send https://a.example"],
  [["--redis-fair"], "--redis-fair needs --redis"],
  [["--require-client-cert"], "--require-client-cert needs --tls"],
])("a local cluster refuses %j before it starts a node", async (given, said) => {
  const data = vacantDirectory();
  const args = ["cluster", "--port=0", "--peer-port=0", `--data=${data}`, ...given];
  const words = await wordsOf(args);
  expect(words).toContain(said);
  expect(existsSync(data)).toBe(false);
  expect(await wordsOf(["config", "print", ...args])).toBe(words);
});
