/** Completion as the shells do it, for each that is installed here. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMMANDS } from "../../../bin/program/command-list.js";
import { type Client, connect } from "../../../src/index.js";
import { type ClusterProcess, startCluster } from "../../e2e/world/cluster-process.js";
import { runCli } from "../../e2e/world/command-line.js";
import { CompletionBench, installed, type Shell } from "./shell-completion.js";

const SHELLS: readonly Shell[] = ["bash", "zsh", "fish"];
/** `help` is of commander, not of the list. */
const NAMES = [...COMMANDS.map(({ name }) => name), "help"].sort();

let cluster: ClusterProcess;
let client: Client;
let bench: CompletionBench;

beforeAll(async () => {
  cluster = await startCluster({ nodes: 1 });
  client = await connect({ endpoints: cluster.endpoints });
  for (const key of ["orders/1", "orders/two words", "stock:7"]) await client.acquire(key);
  bench = await CompletionBench.create(cluster.endpoints.join(","));
});

afterAll(async () => {
  await bench?.[Symbol.asyncDispose]();
  await client?.close();
  await cluster?.stop();
});

for (const shell of SHELLS) {
  describe.runIf(installed(shell) !== undefined)(shell, () => {
    const offered = (line: string): Promise<string[]> => bench.offered(shell, line);

    test("completes commands, and those below them", async () => {
      expect(await offered("holdfast ")).toEqual(NAMES);
      expect(await offered("holdfast se")).toEqual(["server", "session", "settings"]);
      expect(await offered("holdfast session ")).toEqual(["end", "ls"]);
      expect(await offered("holdfast --endpoints a:1 member pro")).toEqual(["promote"]);
    });

    test("completes the flags of the command that was typed, after its operands too", async () => {
      expect(await offered("holdfast member add --pro")).toEqual(["--promote"]);
      expect(await offered("holdfast revoke deploy --gr")).toEqual(["--grace"]);
      // Without one that fits, fish looks for the letters in the descriptions.
      expect(await offered("holdfast inspect --gr")).not.toContain("--grace");
    });

    test("does not complete a flag that was given and cannot be given again", async () => {
      expect(await offered("holdfast run --min-hold 3s --m")).toEqual(["--max-hold"]);
      expect(await offered("holdfast server --allow-host a --allow-h")).toEqual(["--allow-host"]);
    });

    test("completes what an operand or a flag may be", async () => {
      expect(await offered("holdfast completion ")).toEqual(["bash", "fish", "zsh"]);
      expect(await offered("holdfast help comp")).toEqual(["completion"]);
      expect(await offered("holdfast recover --data dat")).toEqual(["data-n1"]);
      expect(await offered("holdfast status --config data")).toEqual(["data-n1", "data.json"]);
      expect(await offered("holdfast snapshot save data")).toEqual(["data-n1", "data.json"]);
    });

    test("completes the value after an equals sign", async () => {
      const values = async (line: string): Promise<string[]> => {
        // zsh and fish offer the whole word, or what follows the sign.
        return (await offered(line)).map((offer) => offer.replace(/^--[^=]*=/, ""));
      };
      expect(await values("holdfast server --log-format=j")).toEqual(["json"]);
      expect(await values("holdfast recover --data=dat")).toEqual(["data-n1"]);
      expect(await values("holdfast status --config=data")).toEqual(["data-n1", "data.json"]);
    });

    test("completes the words that an option takes where there are few", async () => {
      expect(await offered("holdfast server --log-format ")).toEqual(["json", "text"]);
      expect(await offered("holdfast config print server --log-format t")).toEqual(["text"]);
    });

    test("completes the command whose configuration is printed, and the flags of that", async () => {
      expect(await offered("holdfast config print se")).toEqual(["server", "session", "settings"]);
      expect(await offered("holdfast config print server --peer-l")).toEqual(["--peer-listen"]);
      expect(await offered("holdfast config print server --js")).toEqual(["--json"]);
      expect(await offered("holdfast config print run --peer-l")).toEqual([]);
    });

    test("completes names of locks in use", async () => {
      // The cluster is asked for half a second: who gets nothing on a busy machine presses Tab again.
      const offeredAtLast = async (line: string): Promise<readonly string[]> => {
        let names: readonly string[] = [];
        for (let tabs = 0; names.length === 0 && tabs < 10; tabs += 1) names = await offered(line);
        return names.map((name) => name.replaceAll("\\", ""));
      };
      expect(await offeredAtLast("holdfast inspect orders/1")).toEqual(["orders/1"]);
      expect(await offeredAtLast("holdfast history stock")).toEqual(["stock:7"]);
      const both = await offeredAtLast("holdfast run -n orders/");
      expect(both).toEqual(["orders/1", "orders/two words"]);
      const rest = await offeredAtLast("holdfast inspect orders/two\\ w");
      expect(rest).toEqual(["orders/two words"]);
    });

    test("completes the command after the dashes as what it is", async () => {
      const offers = await offered("holdfast run -n orders/1 -- true");
      expect(offers.some((offer) => offer === "true")).toBe(true);
      expect(offers).not.toContain("transfer");
      expect(await offered("holdfast elect a b -- ls data")).toEqual(["data-n1", "data.json"]);
    });

    test("offers nothing where nothing is known, and shows no error", async () => {
      expect(await offered("holdfast nonsense ")).toEqual([]);
      expect(await offered("holdfast run --ttl ")).toEqual([]);
    });
  });
}

test.runIf(installed("bash") !== undefined)(
  "bash gets the part of a word that it keeps back, after a colon or an equals sign",
  async () => {
    expect(await bench.offered("bash", "holdfast inspect stock:")).toEqual(["7"]);
    expect(await bench.offered("bash", "holdfast recover --data=")).toContain("data-n1");
    expect(await bench.offered("bash", "holdfast server --log-format=j")).toEqual(["json"]);
  },
);

test("a shell that there is no script for is wrong usage, with those there are", async () => {
  const { code, stdout, stderr } = await runCli(["completion", "tcsh"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^holdfast: [^\n]*tcsh[^\n]*bash, zsh, fish[^\n]*\n$/);
});
