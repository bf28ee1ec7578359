/**
 * What a command says and does while its cluster does not serve. Each may wait for an hour, so if a
 * test ends, something else ended the wait.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { findFreePorts } from "../../../bin/local-cluster/ports.js";
import { type RunningCli, runCli, startCli } from "../../e2e/world/command-line.js";
import { statusPage } from "./operating/status-page.js";

let nowhere: string;
beforeEach(async () => {
  const [port] = await findFreePorts("127.0.0.1", 1);
  nowhere = `ws://127.0.0.1:${port}`;
});

const lookingAt = (...endpoints: readonly string[]) => ({
  env: { HOLDFAST_ENDPOINTS: endpoints.join(","), HOLDFAST_CONNECT_TIMEOUT: "1h" },
});

async function stopped(running: RunningCli): Promise<void> {
  running.child.kill("SIGTERM");
  await running.result;
}

describe("without any node", () => {
  test("run -w gives up when its time is over, the search for a node included", async () => {
    const args = ["run", "-w", "300ms", "k", "--", "true"];
    const { code, stderr } = await runCli(args, lookingAt(nowhere));
    expect(code).toBe(4);
    expect(stderr).toMatch(/^holdfast: no node serves: [^\n]+\n$/);
  });

  test("run -n and elect -n give up when every node refuses, and elect -w after its time", async () => {
    const results = await Promise.all([
      runCli(["run", "-n", "k", "--", "true"], lookingAt(nowhere)),
      runCli(["elect", "-n", "k", "value"], lookingAt(nowhere)),
      runCli(["elect", "-w", "300ms", "k", "value"], lookingAt(nowhere)),
    ]);
    for (const { code, stderr } of results) {
      expect([code, stderr]).toEqual([4, expect.stringMatching(/^holdfast: no node .+\n$/)]);
    }
  });

  test("every command that waits says so soon, and goes on", async () => {
    const commands = [
      ["run", "k", "--", "true"],
      ["elect", "k", "value"],
      ["elect", "k", "--observe"],
      ["watch"],
      ["ls"],
      ["inspect", "k", "--json"],
      ["member", "ls"],
      ["member", "promote", "4"],
      ["transfer"],
      ["bench"],
    ];
    const waits = async (command: readonly string[]): Promise<void> => {
      const running = startCli(command, lookingAt(nowhere));
      await running.noted(`no node answers at ${nowhere}: still trying\n`);
      expect([running.child.exitCode, running.stdout]).toEqual([null, ""]);
      await stopped(running);
    };
    await Promise.all(commands.map(waits));
  });

  test("a command that is to be quiet says no more than why it ended", async () => {
    const quiet = [
      ["run", "-q", "-n", "k", "--", "true"],
      ["elect", "-q", "-n", "k", "value"],
    ];
    const results = await Promise.all(quiet.map((args) => runCli(args, lookingAt(nowhere))));
    for (const { code, stderr } of results) {
      expect([code, stderr]).toEqual([4, `holdfast: no node answers at ${nowhere}\n`]);
    }
  });
});

test("with too few nodes for a leader it is said how many answer and how many are needed", async () => {
  const members = [1, 2, 3].map((id) => ({ id, role: "voter", address: `127.0.0.1:${id}` }));
  const page = await statusPage(1, { role: "preCandidate", leader: 0, members });
  const running = startCli(["run", "k", "--", "true"], lookingAt(page, nowhere));
  await running.noted(
    "no leader: 1 of 3 nodes answers, 2 are needed; start the others: still trying\n",
  );
  await stopped(running);
});

test("run -w that ends while it connects to a cluster which serves is 124, as when it waits", async () => {
  const page = await statusPage(1, { role: "leader" });
  const args = ["run", "-w", "300ms", "k", "--", "true"];
  const { code, stderr } = await runCli(args, lookingAt(page));
  expect([code, stderr]).toEqual([124, "holdfast: k was not granted within 300ms\n"]);
});
