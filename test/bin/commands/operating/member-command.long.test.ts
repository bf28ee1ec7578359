/**
 * Commands that operate a cluster, each in a process of its own against a real socket: what they
 * print, to which stream, and their exit codes.
 */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFreePorts } from "../../../../bin/local-cluster/ports.js";
import { SocketTable } from "../../../client/world/socket-table.js";
import { type CliResult, runCli } from "../../../e2e/world/command-line.js";

describe("against a cluster", () => {
  let table: SocketTable;
  beforeEach(async () => {
    table = await SocketTable.listen();
    return () => table.close();
  });

  const ask = (...args: readonly string[]): Promise<CliResult> =>
    runCli([...args, `--endpoints=${table.endpoint}`]);

  test("member ls is a table, and with --json the documented document", async () => {
    const [shown, json] = await Promise.all([ask("member", "ls"), ask("member", "ls", "--json")]);
    expect([shown.code, shown.stderr]).toEqual([0, ""]);
    expect(shown.stdout).toMatch(/^NODE +ROLE +LEADS .*\n +1 +voter +yes +yes +0 +1 +node-1:7511 /);
    expect(shown.stdout).toMatch(/\n3 voters: the cluster works while 2 of them run\n$/);
    expect(JSON.parse(json.stdout)).toEqual({
      leaderId: 1,
      term: 1,
      commitIndex: 1,
      isJoint: false,
      members: [table.endpoint, "ws://node-2:7411", "ws://node-3:7411"].map((endpoint, i) => ({
        id: i + 1,
        role: "voter",
        address: `node-${i + 1}:7511`,
        endpoint,
        isReachable: true,
        lagEntries: 0,
        incarnation: 1,
      })),
    });
  });

  test("member add says how to start the node and what comes next", async () => {
    const { code, stdout, stderr } = await ask("member", "add", "4", "db-4:7511");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("  holdfast server --id=4 --data=n4 --listen=db-4:7411 ");
    expect(stdout).toContain(` --join=${table.endpoint},ws://node-2:7411,ws://node-3:7411 `);
    expect(stdout).toContain("holdfast member promote 4\n");
    const again = await ask("member", "add", "4", "db-4:7511", "--json");
    expect(JSON.parse(again.stdout)).toMatchObject({
      id: 4,
      role: "learner",
      address: "db-4:7511",
      start: expect.arrayContaining(["--id=4", "--peer-listen=db-4:7511"]),
    });
    expect(table.members.changes).toBe(1);
  });

  test("member add --promote makes a voter of it once it has caught up", async () => {
    const { code, stdout } = await ask("member", "add", "4", "db-4:7511", "--promote");
    expect([code, stdout.endsWith("\nnode 4 is a voter\n")]).toEqual([0, true]);
    expect(stdout).not.toContain("member promote");
    expect(table.members.changes).toBe(2);
  });

  test("member add of a member at another address says where it is, and moves it with --move alone", async () => {
    const refused = await ask("member", "add", "2", "db-2:7511");
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([
      5,
      "",
      "holdfast: node 2 is a voter already, at node-2:7511; to change its address to db-2:7511: " +
        "holdfast member add 2 db-2:7511 --move\n",
    ]);
    expect(table.members.changes).toBe(0);
    const moved = await ask("member", "add", "2", "db-2:7511", "--move", "--json");
    expect([moved.code, JSON.parse(moved.stdout)]).toMatchObject([0, { address: "db-2:7511" }]);
    expect(table.members.changes).toBe(1);
    expect((await ask("member", "add", "2", "db-2:7511")).code).toBe(0);
  });

  test("member promote is 124 when the node lags for too long, and 5 at once with --no-wait", async () => {
    await ask("member", "add", "4", "db-4:7511");
    table.members.lag.set(4, 7);
    const waited = await ask("member", "promote", "4", "--wait", "300ms");
    expect([waited.code, waited.stdout]).toEqual([124, ""]);
    // Standard error is not a terminal: one note of what is waited for, and the end.
    expect(waited.stderr).toMatch(
      /^holdfast: node 4 is not a voter yet: it is 7 entries behind [^\n]+\nholdfast: [^\n]+\n$/,
    );
    const atOnce = await ask("member", "promote", "4", "--no-wait");
    expect([atOnce.code, atOnce.stderr]).toEqual([
      5,
      "holdfast: the node has not caught up with the log yet (BUSY)\n",
    ]);
    table.members.lag.clear();
    const done = await ask("member", "promote", "4", "--json");
    expect([done.code, done.stdout]).toEqual([0, '{"id":4,"role":"voter"}\n']);
  });

  test("member demote and remove say what the cluster bears then, or are 5 in the leader's words", async () => {
    const demoted = await ask("member", "demote", "3");
    expect([demoted.code, demoted.stdout]).toEqual([
      0,
      "node 3 is a learner\n2 voters: the cluster works while 2 of them run\n",
    ]);
    const removed = await ask("member", "remove", "3", "--json");
    expect([removed.code, removed.stdout]).toEqual([0, '{"id":3,"role":null}\n']);
    table.cluster.faults.downNodes.add(1);
    const refused = await ask("member", "remove", "2");
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([
      5,
      "",
      "holdfast: the cluster would lose its majority (FORBIDDEN)\n",
    ]);
    const unknown = await ask("member", "demote", "9");
    expect([unknown.code, unknown.stderr]).toEqual([
      5,
      "holdfast: node 9 is not a member; add it first (INVALID_ARGUMENT)\n",
    ]);
  });

  test("transfer prints who leads then", async () => {
    const certain = await ask("transfer", "3");
    expect([certain.code, certain.stdout, certain.stderr]).toEqual([0, "node 3 leads\n", ""]);
    const other = await ask("transfer", "--json");
    expect([other.code, other.stdout]).toEqual([0, '{"leader":1}\n']);
    expect((await ask("transfer", "9")).code).toBe(5);
  });
});

describe("without a cluster", () => {
  let endpoint: string;
  beforeAll(async () => {
    const [port] = await findFreePorts("127.0.0.1", 1);
    endpoint = `ws://127.0.0.1:${port}`;
  });

  test("every command is 4, and one line that names the endpoint", async () => {
    const common = [`--endpoints=${endpoint}`, "--connect-timeout=200ms"];
    const all = [["member", "ls"], ["member", "remove", "3"], ["transfer"]];
    const results = await Promise.all(all.map((args) => runCli([...args, ...common])));
    for (const { code, stdout, stderr } of results) {
      expect([code, stdout]).toEqual([4, ""]);
      expect(stderr).toMatch(/^holdfast: no node answers: ws:\/\/127\.0\.0\.1:\d+: .+\n$/);
    }
  });
});

describe("usage", () => {
  test("help begins with examples, at every level", async () => {
    const pages = [
      ["member", "--help"],
      ["help", "member"],
      ["help", "member", "add"],
      ["member", "promote", "--help"],
      ["transfer", "--help"],
      ["recover", "--help"],
    ];
    const results = await Promise.all(pages.map((args) => runCli(args)));
    for (const [index, { code, stdout, stderr }] of results.entries()) {
      expect([pages[index], code, stderr]).toEqual([pages[index], 0, ""]);
      expect(stdout).toMatch(/^Examples:\n {2}holdfast /);
      expect(stdout).toMatch(/\nUsage: holdfast /);
    }
    for (const name of ["ls", "add", "promote", "demote", "remove"]) {
      expect(results[0]?.stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
    }
    expect(results[1]?.stdout).toBe(results[0]?.stdout);
    expect(results[2]?.stdout).toContain("Usage: holdfast member add [options] <id> <host:port>");
  });

  test("what makes no sense is 2 and one line, with a suggestion for a typo", async () => {
    const wrong: readonly (readonly [readonly string[], string])[] = [
      [["member", "promot", "4"], "(Did you mean promote?)"],
      [["tranfser"], "(Did you mean transfer?)"],
      [["member", "add", "4"], "missing required argument 'host:port'"],
      [["member", "add", "0", "a:1"], '"0" is not a node id'],
      [
        ["member", "add", "4", "a:0"],
        "is not an address at which the other nodes can reach this one",
      ],
      [["member", "add", "4", "a"], "such an address looks like db-4:7511"],
      [["member", "promote", "4", "--wait", "5"], "A duration needs a unit"],
      [["recover", "--id", "3"], "required option '--data <directory>' not specified"],
      [["server", "--id=1", "--data=x"], "give --initial-cluster to found a cluster, or --join"],
    ];
    const results = await Promise.all(wrong.map(([args]) => runCli(args)));
    for (const [index, { code, stdout, stderr }] of results.entries()) {
      const [args, text] = wrong[index] ?? [[], ""];
      expect([args, code, stdout]).toEqual([args, 2, ""]);
      expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
      expect(stderr).toContain(text);
    }
  });
});
