/**
 * The commands that only look: `status`, `inspect`, `ls`, help and version. Their JSON is a
 * contract, so its shape is compared whole.
 */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { freePorts } from "../../../lab/free-ports.js";
import { type Client, connect, type Lock } from "../../../src/index.js";
import { ClusterScene } from "../world/cluster-scene.js";
import { runCli } from "../world/command-line.js";
import { documentOf } from "../world/command-result.js";
import { until } from "../world/process-life.js";

/** So long an election on a busy machine may get in the way of what is asked. */
const ELECTION_WAIT = { timeout: 20_000 };

const scene = new ClusterScene({}, { name: "billing-7\u{202e}" });
beforeAll(() => scene.start());
afterAll(() => scene.stop());

const ask = (...args: readonly string[]) => scene.holdfast(args);
const askJson = async (...args: readonly string[]): Promise<unknown> =>
  documentOf(await ask(...args, "--json"));

test("an impossible name is reported before a cluster is looked for", async () => {
  const env = { HOLDFAST_ENDPOINTS: "127.0.0.1:9", HOLDFAST_CONNECT_TIMEOUT: "50s" };
  const cases: readonly (readonly [readonly string[], string])[] = [
    [["inspect", ""], "key is empty"],
    [["explain", "a\tb"], "key holds a control character"],
    [["history", "~locks"], "keys under ~ are reserved"],
    [["ls", "a\nb"], "prefix holds a control character"],
    [["watch", "--prefix", "x".repeat(513)], "prefix exceeds 512 bytes"],
    [["revoke", "x".repeat(513)], "key exceeds 512 bytes"],
    [["limit", "", "3"], "key is empty"],
    [["elect", "", "host-7"], "key is empty"],
    [["elect", "", "--observe"], "key is empty"],
  ];
  const results = await Promise.all(cases.map(([args]) => runCli(args, { env })));
  const told = results.map(({ code, stdout, stderr }) => [code, stdout, stderr]);
  expect(told).toEqual(cases.map(([, why]) => [2, "", `holdfast: ${why} (INVALID_ARGUMENT)\n`]));
});

describe("status", () => {
  test("--json is the documented document", async () => {
    // Once more if another node was elected meanwhile.
    await vi.waitFor(async () => {
      const leader = await scene.cluster.leader();
      const document = await askJson("status");
      expect(document).toEqual({
        nodes: scene.cluster.nodes.map(({ id, pid, endpoint }) => ({
          id,
          role: id === leader.id ? "leader" : "follower",
          pid,
          term: (document as { nodes: { term: number }[] }).nodes[0]?.term,
          commitIndex: expect.any(Number),
          appliedIndex: expect.any(Number),
          endpoint,
          access: { state: "open", identities: 0 },
        })),
        findings: [],
      });
      for (const node of (document as { nodes: Record<string, number>[] }).nodes) {
        for (const name of ["term", "commitIndex", "appliedIndex"]) {
          expect(node[name], name).toBeGreaterThan(0);
        }
        expect(node["appliedIndex"]).toBeLessThanOrEqual(node["commitIndex"] ?? 0);
      }
    }, ELECTION_WAIT);
  });

  test("learns of all nodes from one, and --endpoints wins over the environment", async () => {
    const [one] = scene.endpoints;
    const nowhere = { HOLDFAST_ENDPOINTS: "127.0.0.1:1" };
    for (const args of [
      [`--endpoints=${one}`, "status"],
      ["status", `--endpoints=${one}`],
    ]) {
      const { code, stdout } = await runCli(args, { env: nowhere });
      expect(code).toBe(0);
      for (const endpoint of scene.endpoints) expect(stdout).toContain(endpoint);
    }
  });

  test("is 4 and one line on standard error when no node answers, and still prints what it knows", async () => {
    const [port] = await freePorts(1);
    const endpoint = `ws://127.0.0.1:${port}`;
    const { code, stdout, stderr } = await runCli([
      "status",
      "--json",
      `--endpoints=127.0.0.1:${port}`,
    ]);
    expect([code, stderr]).toEqual([4, `holdfast: no node answers at ${endpoint}\n`]);
    expect(JSON.parse(stdout)).toEqual({
      nodes: [{ ...UNREACHABLE, id: null, endpoint }],
      findings: expect.arrayContaining([expect.objectContaining({ code: "unreachable" })]),
    });
  });
});

const UNREACHABLE = {
  role: "unreachable",
  pid: null,
  term: null,
  commitIndex: null,
  appliedIndex: null,
  access: null,
};

describe("inspect and ls", () => {
  let lock: Lock;
  let other: Client;
  let waiting: Promise<Lock>;
  beforeAll(async () => {
    lock = await scene.client.acquire("orders/1");
    await scene.client.acquire("orders/2", { mode: "shared" });
    await scene.client.acquire("stock/1");
    other = await connect({ endpoints: scene.endpoints });
    waiting = other.acquire("orders/1", { mode: "shared" });
    await until(
      "the waiter",
      async () => (await scene.client.inspect("orders/1")).waiters.length === 1,
    );
  });
  afterAll(async () => {
    await lock.release();
    await waiting;
    await other.close();
  });

  test("inspect --json is the documented document", async () => {
    const number = expect.any(Number);
    expect(await askJson("inspect", "orders/1")).toEqual({
      key: "orders/1",
      kind: "lock",
      limit: 0,
      cooldowns: [],
      holds: [
        {
          token: lock.token,
          mode: "exclusive",
          session: scene.client.session,
          sessionName: "billing-7\u{202e}",
          identity: "anonymous",
          task: number,
          heldMs: number,
          waitedMs: number,
          leaseMs: number,
          ttlMs: number,
          endsInMs: null,
          isRevoked: false,
          orderedBy: "",
          holder: "session",
          leaseOwner: "",
          sequence: number,
          permits: 0,
          slots: [],
          value: "",
        },
      ],
      waiters: [
        {
          mode: "shared",
          session: other.session,
          sessionName: "",
          identity: "anonymous",
          task: number,
          sequence: number,
          arrival: number,
          waitingMs: number,
          endsInMs: null,
          priority: 0,
          permits: 0,
          isUpgrade: false,
          isEligible: false,
        },
      ],
    });
    const free = { kind: null, limit: 0, holds: [], waiters: [], cooldowns: [] };
    const found = await askJson("inspect", "nobody/uses/it");
    expect(found).toEqual({ key: "nobody/uses/it", ...free });
  });

  test("inspect for people names holder and waiter, and lets no name write to the terminal", async () => {
    const { code, stdout } = await ask("inspect", "orders/1");
    expect(code).toBe(0);
    expect(stdout).toContain(String(lock.token));
    expect(stdout).toContain("billing-7\\u{202e}");
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect((await ask("inspect", "nobody/uses/it")).stdout).toBe("nobody/uses/it: free\n");
  });

  test("ls --json is one object of inspect a line, in the order of the keys", async () => {
    const list = async (...args: readonly string[]): Promise<unknown[]> => {
      const { code, stdout } = await ask("ls", ...args, "--json");
      expect(code).toBe(0);
      return stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    };
    const keysOf = (views: unknown[]): unknown[] => views.map((view) => (view as Lock).key);
    expect(keysOf(await list())).toEqual(["orders/1", "orders/2", "stock/1"]);
    expect(keysOf(await list("orders/"))).toEqual(["orders/1", "orders/2"]);
    expect(await list("none/")).toEqual([]);
    const [first] = await list("orders/1");
    const inspected = (await askJson("inspect", "orders/1")) as object;
    expect(Object.keys(first as object).sort()).toEqual(Object.keys(inspected).sort());
    expect(first).toMatchObject({ holds: [{ token: lock.token }], waiters: [{ mode: "shared" }] });
  });

  test("ls for people is a table, or a note of what was looked for in vain", async () => {
    const { stdout } = await ask("ls");
    expect(stdout.split("\n").map((line) => line.split(/ +/)[0])).toEqual([
      "KEY",
      "orders/1",
      "orders/2",
      "stock/1",
      "",
    ]);
    const none = await ask("ls", "none/");
    const note = 'holdfast: no lock whose name begins with "none/" is in use\n';
    expect([none.code, none.stdout, none.stderr]).toEqual([0, "", note]);
  });

  test("a key that cannot be is wrong usage", async () => {
    for (const key of ["", "a\u0007", "~x", "k".repeat(513)]) {
      const { code, stderr } = await ask("inspect", key);
      expect([key, code]).toEqual([key, 2]);
      expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
    }
  });
});

describe("help", () => {
  test("begins with examples, for every command", async () => {
    const names = ["cluster", "server", "run", "status", "inspect", "ls"];
    const all = await runCli(["--help"]);
    expect([all.code, all.stderr]).toEqual([0, ""]);
    expect(all.stdout).toMatch(/^Examples:\n/);
    for (const name of names) expect(all.stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
    expect((await runCli([])).stdout).toBe(all.stdout);
    const pages = await Promise.all(
      names.flatMap((name) => [runCli([name, "--help"]), runCli(["help", name])]),
    );
    for (const [index, { code, stdout, stderr }] of pages.entries()) {
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/^Examples:\n/);
      expect(stdout).toContain(`Usage: holdfast ${names[index >> 1]} `);
    }
  });

  test("shows the whole table of exit codes", async () => {
    const { code, stdout } = await runCli(["help", "exit-codes"]);
    expect(code).toBe(0);
    const rows = [...stdout.matchAll(/^ {2}(\S+) +\S/gm)].map((match) => match[1]);
    expect(rows).toEqual([...Object.values(EXIT).map(String), "128+n", "other"]);
  });

  test("--version is the package's", async () => {
    const text = await readFile(new URL("../../../package.json", import.meta.url), "utf8");
    const { version } = JSON.parse(text) as { version: string };
    for (const flag of ["--version", "-V"]) {
      expect(await runCli([flag])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: "" });
    }
  });

  test("a typo is wrong usage, with a suggestion, in one line", async () => {
    const typos: readonly (readonly [readonly string[], string])[] = [
      [["statsu"], "(Did you mean status?)"],
      [["help", "inspct"], "(Did you mean inspect?)"],
      [["status", "--jsn"], "(Did you mean --json?)"],
      [["run", "--quite", "key", "--", "true"], "(Did you mean --quiet?)"],
    ];
    for (const [args, suggestion] of typos) {
      const { code, stdout, stderr } = await runCli(args);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
      expect(stderr).toContain(suggestion);
    }
  });
});

describe("of a cluster with nodes down", () => {
  test("status says which is unreachable, and 4 once nobody leads", async () => {
    const [first, second, third] = scene.cluster.nodes;
    if (!first || !second || !third) throw new Error("three nodes are needed");
    await second.kill("SIGKILL");
    const down = { ...UNREACHABLE, id: 2, endpoint: second.endpoint };
    await vi.waitFor(async () => {
      const one = (await askJson("status")) as { nodes: { id: number; role: string }[] };
      expect(one.nodes).toHaveLength(3);
      expect(one.nodes[1]).toEqual(down);
      expect(one.nodes.filter(({ role }) => role === "leader")).toHaveLength(1);
    }, ELECTION_WAIT);
    expect((await ask("status")).stdout).toMatch(/^ *2 +- +unreachable +- +- +- +- +ws:/m);

    await third.kill("SIGKILL");
    await until("node 1 to lead no more", async () => (await first.status())?.role !== "leader");
    const none = await ask("status", "--json");
    const said = "holdfast: no leader: 1 of 3 nodes answers, 2 are needed; start the others\n";
    expect([none.code, none.stderr]).toEqual([4, said]);
    const read = await ask("ls", "--connect-timeout=3s");
    expect([read.code, read.stderr]).toEqual([4, expect.stringContaining(said.trim())]);
    const { nodes } = JSON.parse(none.stdout) as { nodes: { role: string }[] };
    expect(nodes.slice(1).map(({ role }) => role)).toEqual(["unreachable", "unreachable"]);
    expect(nodes[0]).toMatchObject({ id: 1, pid: first.pid });
    await Promise.all([second.restart(), third.restart()]);
    await scene.cluster.leader();
    expect((await ask("status")).code).toBe(0);
  });
});
