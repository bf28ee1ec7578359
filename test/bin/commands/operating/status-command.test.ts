/** `holdfast status` of nodes in states that are rare: damaged, learning, starting. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { findTool } from "../../../../bin/run/find-executable.js";
import { displayWidth } from "../../../../bin/text/display-width.js";
import { bareEnvironment, COMMAND, runCli } from "../../../e2e/world/command-line.js";
import { statusPage } from "./status-page.js";

const DAMAGE = { file: "/n2/log/7.seg", offset: 512, index: 7, reason: "wrong\u001b[2J checksum" };

async function endpoints(): Promise<string> {
  const urls = [
    await statusPage(1, { role: "leader" }),
    await statusPage(2, { role: "quarantined", damage: DAMAGE }),
    await statusPage(3, { role: "learner" }),
    await statusPage(4, { role: "starting" }),
  ];
  return `--endpoints=${urls.join(",")}`;
}

test("a quarantined node is shown with what is damaged and what to do", async () => {
  const { code, stdout, stderr } = await runCli(["status", await endpoints()]);
  expect([code, stderr]).toEqual([0, ""]);
  const lines = stdout.split("\n");
  expect(lines.slice(1, 5).map((line) => line.trim().split(/ +/)[1])).toEqual([
    "leader",
    "quarantined",
    "learner",
    "starting",
  ]);
  expect(lines.slice(5)).toEqual([
    "",
    "Problem: Node 2 is quarantined: its data are damaged. What helps: docs/operating/recovery.md",
    "Warning: Node 4 is starting. What helps: docs/operating/recovery.md",
    "",
    "node 2 is quarantined: /n2/log/7.seg: wrong\\u{1b}[2J checksum",
    "stop it, then: holdfast recover --id 2 --data DIRECTORY",
    "",
  ]);
});

test("the document names the damage of that node alone", async () => {
  const { stdout } = await runCli(["status", "--json", await endpoints()]);
  const { nodes } = JSON.parse(stdout) as { nodes: { role: string; damage?: object }[] };
  expect(nodes.map(({ role }) => role)).toEqual(["leader", "quarantined", "learner", "starting"]);
  const { file, reason } = DAMAGE;
  expect(nodes.map(({ damage }) => damage)).toEqual([
    undefined,
    { file, reason },
    undefined,
    undefined,
  ]);
});

test("a cluster that is not open to everybody says what those may do who do not sign in", async () => {
  const outputOf = async (access: object) => {
    const url = await statusPage(1, { role: "leader", access });
    const { code, stdout } = await runCli(["status", `--endpoints=${url}`]);
    expect(code).toBe(0);
    return stdout.split("\n").slice(2).join("\n");
  };
  expect(await outputOf({ state: "closed", identities: 2 })).toBe(
    "\nsecured: clients that do not sign in may do nothing\n",
  );
  expect(await outputOf({ state: "partlyOpen", identities: 0 })).toContain("partly open: ");
  expect(await outputOf({ state: "open", identities: 2 })).toContain("may do everything");
  expect(await outputOf({ state: "open", identities: 0 })).toBe("");
});

test("a secured cluster says what who asks lacks, and is not one that does not answer", async () => {
  const url = await statusPage(1, { role: "leader" }, undefined, "good");
  const ask = (endpoint: string, env: Record<string, string> = {}) =>
    runCli(["status", `--endpoints=${endpoint}`], { env });
  expect((await ask(url, { HOLDFAST_ACCESS_TOKEN: "good" })).code).toBe(0);
  const none = await ask(url);
  expect([none.code, none.stderr]).toEqual([
    5,
    `holdfast: ${url}: its cluster is secured: an access token is needed; see --token-file (UNAUTHENTICATED)\n`,
  ]);
  expect(none.stdout).toMatch(/\n +- +- +answers .* \(its cluster is secured: an access/);
  const bad = await ask(url, { HOLDFAST_ACCESS_TOKEN: "bad" });
  expect([bad.code, bad.stderr]).toEqual([
    5,
    expect.stringMatching(/refuses this access token: it was removed or replaced/),
  ]);
  // Another way to this machine, which does not look like one.
  const both = `${url.replace("127.0.0.1", "0.0.0.0")},ws://127.0.0.1:9`;
  const far = await ask(both, { HOLDFAST_ACCESS_TOKEN: "good" });
  const sent = /is sent through wss: only, except on this machine; see/;
  expect([far.code, far.stderr]).toEqual([5, expect.stringMatching(sent)]);
});

test("a page with something else for the damage does not come from a node", async () => {
  const url = await statusPage(1, { role: "leader", damage: "none" });
  const { code, stdout } = await runCli(["status", "--json", `--endpoints=${url}`]);
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({ nodes: [{ role: "unreachable" }] });
});

test("without a leader the end says how many nodes answer and how many are needed", async () => {
  const members = [1, 2, 3, 4].map((id) => {
    return { id, role: id === 4 ? "learner" : "voter", address: `127.0.0.1:${id}` };
  });
  const urls = [
    await statusPage(1, { role: "preCandidate", leader: 0, members }),
    await statusPage(2, { role: "quarantined", leader: 0, damage: DAMAGE }),
    await statusPage(4, { role: "learner", leader: 0, members }),
  ];
  const { code, stdout, stderr } = await runCli(["status", `--endpoints=${urls.join(",")}`]);
  const text = "holdfast: no leader: 1 of 3 nodes answers, 2 are needed; start the others\n";
  expect([code, stderr]).toEqual([4, text]);
  expect(stdout).toMatch(/^ *1 +electing /m);
});

/** The `script` of util-linux: makes a terminal. */
const SCRIPT = process.platform === "linux" ? findTool("script") : undefined;

/** What `status` prints on a terminal of 80 columns. */
async function linesOnTerminal(urls: readonly string[]): Promise<string[]> {
  const status = `"$NODE" "$HOLDFAST" status --endpoints=${urls.join(",")}`;
  const env = { SHELL: "/bin/sh", NODE: process.execPath, HOLDFAST: COMMAND, NO_COLOR: "1" };
  const { stdout } = await promisify(execFile)(
    SCRIPT ?? "",
    ["-q", "-e", "-c", `stty cols 80 && ${status}`, "/dev/null"],
    { env: { ...bareEnvironment(), ...env } },
  );
  const lines = stdout.trimEnd().split("\r\n");
  expect(lines.filter((line) => displayWidth(line) > 80)).toEqual([]);
  return lines;
}

test.runIf(SCRIPT !== undefined)(
  "on a terminal the table is not wider than the terminal",
  async () => {
    // As from a node of a later version.
    const role = `follower-${"x".repeat(90)}`;
    const urls = [await statusPage(1, { role: "leader" }), await statusPage(2, { role })];
    const lines = await linesOnTerminal(urls);
    expect(lines).toHaveLength(3);
    expect(lines.join()).toContain("…");
    const { stdout: piped } = await runCli(["status", `--endpoints=${urls.join(",")}`]);
    expect(piped).toContain(role);
  },
);

test.runIf(SCRIPT !== undefined)("on a terminal no word of what is wrong is cut", async () => {
  const damaged = { role: "quarantined", damage: DAMAGE };
  const urls = [await statusPage(1, { role: "leader" }), await statusPage(2, damaged)];
  expect((await linesOnTerminal(urls)).slice(4, 6)).toEqual([
    "Problem: Node 2 is quarantined: its data are damaged. What helps:",
    "docs/operating/recovery.md",
  ]);
});
