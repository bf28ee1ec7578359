/**
 * The commands that show more than who holds a lock: `explain`, `history`, `graph`, and those that go
 * on until they are stopped, `watch` and `elect --observe`.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, connect, type Lock, type Revision } from "../../../src/index.js";
import { startCluster } from "../world/cluster-process.js";
import { ClusterScene } from "../world/cluster-scene.js";
import { COMMAND } from "../world/command-line.js";
import { documentOf } from "../world/command-result.js";
import { expectDocumented } from "../world/documented-json.js";
import { until } from "../world/process-life.js";

const NOWHERE: Revision = { index: 0, number: 0 };

const scene = new ClusterScene({ nodes: 1 }, { name: "billing-7\u{202e}" });
beforeAll(() => scene.start());
afterAll(() => scene.stop());

const ask = (...args: readonly string[]) => scene.holdfast(args);
const start = (...args: readonly string[]) => scene.startHoldfast(args);

/** The document, as documented. */
async function askJson<T>(title: string, ...args: readonly string[]): Promise<T> {
  const document = documentOf<T>(await ask(...args, "--json"));
  expectDocumented(document, title);
  return document;
}

function objects(stdout: string): Record<string, unknown>[] {
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

describe("while one holds and another waits", () => {
  let lock: Lock;
  let other: Client;
  let waiting: Promise<Lock>;
  beforeAll(async () => {
    lock = await scene.client.acquire("orders/1");
    other = await connect({ endpoints: scene.endpoints, name: "billing-8" });
    waiting = other.acquire("orders/1");
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

  test("inspect names the request, and explain says why that one waits", async () => {
    const [waiter] = (await scene.client.inspect("orders/1")).waiters;
    const request = `${waiter?.session}/${waiter?.sequence}`;
    expect((await ask("inspect", "orders/1")).stdout).toContain(` ${request} `);
    const { code, stdout } = await ask("explain", "orders/1", "--request", request);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^billing-8 has waited for \S+\.\nWaits because billing-7\\u\{202e\} \(exclusive, token/,
    );
    expect(stdout).toContain(`token ${lock.token}) holds it.`);
    const document = await askJson<{ request: object }>(
      "explain",
      ...["explain", "orders/1", "--request", request],
    );
    expect(document.request).toMatchObject({ session: waiter?.session, mode: "exclusive" });
  });

  test("explain says what a new request would have to wait for, free keys included", async () => {
    const document = await askJson<{ keys: object[] }>("explain", "explain", "orders/1");
    expect(document.keys).toMatchObject([{ isEligible: false, aheadCount: 1 }]);
    expect((await ask("explain", "nobody/uses/it")).stdout).toBe(
      "A new request would be granted at once.\n",
    );
  });

  test("explain has words for a holder without a name", async () => {
    await using unnamed = await connect({ endpoints: scene.endpoints });
    await using held = await unnamed.acquire("orders/2");
    expect((await ask("explain", "orders/2")).stdout).toContain(
      `because session ${unnamed.session} (exclusive, token ${held.token}) holds it.`,
    );
  });

  test("explain is 5 for a request that does not wait there, and 2 for what is none", async () => {
    const unknown = await ask("explain", "orders/1", "--request", "999/1");
    expect([unknown.code, unknown.stdout, unknown.stderr]).toEqual([
      5,
      "",
      "holdfast: no request 999/1 waits for orders/1\n",
    ]);
    expect((await ask("explain", "orders/1", "--request", "7")).code).toBe(2);
  });

  test("graph shows who waits behind whom: as a table, as a document and for Graphviz", async () => {
    const { edges } = await askJson<{ edges: object[] }>("graph", "graph");
    expect(edges).toMatchObject([{ key: "orders/1", mode: "exclusive", why: "holds" }]);
    const table = (await ask("graph")).stdout;
    expect(table).toMatch(/\nbilling-8 .* orders\/1 .* billing-7\\u\{202e\} .* holds it\n$/);
    const dot = await ask("graph", "--dot");
    expect(dot.stdout).toMatch(
      /^digraph waits \{\n[\s\S]*-> n2 \[label="orders\/1\\nexclusive"\];\n\}\n$/,
    );
    expect(dot.stdout).toContain("billing-7&#8238;");
    const both = await ask("graph", "--dot", "--json");
    expect([both.code, both.stdout]).toEqual([2, ""]);
  });
});

test("graph without waits is an empty table, a note, and no error", async () => {
  const { code, stdout, stderr } = await ask("graph");
  expect([code, stdout, stderr]).toEqual([0, "", "holdfast: no request is waiting\n"]);
});

test("history is newest first, with reasons, and says when there may be more", async () => {
  const first = await scene.client.acquire("history/1");
  await first.release();
  const second = await scene.client.acquire("history/1");
  const document = await askJson<{ tenures: Record<string, unknown>[]; isTruncated: boolean }>(
    "history",
    ...["history", "history/1"],
  );
  expect(document).toMatchObject({ key: "history/1", isTruncated: false });
  expect(document.tenures.map(({ token, reason }) => [token, reason])).toEqual([
    [second.token, null],
    [first.token, "released"],
  ]);
  const newest = await ask("history", "history/1", "-l", "1");
  expect(newest.stdout.split("\n")).toHaveLength(3);
  expect(newest.stdout).toMatch(/billing-7\\u\{202e\} .* held +\d+\n$/);
  expect(newest.stderr).toMatch(/^holdfast: there are older ones[^\n]*\n$/);
  await second.release();
  const nobody = await ask("history", "history/none");
  expect([nobody.code, nobody.stdout]).toEqual([0, ""]);
  expect(nobody.stderr).toBe("holdfast: history/none was never held\n");
});

test("history says that there is an audit where memory alone has forgotten", async () => {
  await using forgetful = await startCluster({ nodes: 1, serverArguments: ["--changes-max=1"] });
  await using other = await connect({ endpoints: forgetful.endpoints });
  await (await other.acquire("history/1")).release();
  // Changes are forgotten a thousand at a time.
  const keys = Array.from({ length: 1_500 }, (_, at) => `other/${at}`);
  await Promise.all(keys.map(async (key) => (await other.acquire(key)).release()));
  const hint = "a node that is started with --audit keeps its history, even after restarts";
  expect(await forgetful.holdfast(["history", "history/1"])).toMatchObject({
    code: 0,
    stdout: "",
    stderr:
      "holdfast: nothing is known about history/1; earlier records are no longer kept\n" +
      `holdfast: ${hint}\n`,
  });
});

describe("watch", () => {
  test("reports each change in order, and goes on after a revision that it reported", async () => {
    const watching = start("watch", "--prefix", "watch/", "--count", "2", "--json");
    await watching.noted("watching from ");
    const lock = await scene.client.acquire("watch/1", { value: "v\u009b" });
    await (await scene.client.acquire("elsewhere")).release();
    await lock.release();
    const { code, stdout } = await watching.result;
    expect(code).toBe(0);
    // Neither a control character nor a mark of direction, whatever somebody put into a value.
    expect(stdout).not.toMatch(/[\u007f-\u009f\u202e]/);
    const changes = objects(stdout);
    for (const change of changes) expectDocumented(change, "watch");
    expect(changes).toMatchObject([
      { type: "granted", key: "watch/1", token: lock.token, value: "v\u009b" },
      { type: "ended", key: "watch/1", token: lock.token, reason: "released" },
    ]);
    const { index, number } = changes.map(({ revision }) => revision as Revision)[0] ?? NOWHERE;
    const after = ["--after", `${index}/${number}`, "--count", "1", "--json", "-q"];
    const again = await ask("watch", "watch/1", ...after);
    expect([again.code, again.stderr]).toEqual([0, ""]);
    expect(objects(again.stdout)).toEqual([changes[1]]);
    const loud = await ask("watch", "watch/1", ...after.slice(0, -1));
    expect(loud.stderr).toBe(`holdfast: watching from ${index}/${number}\n`);
  });

  test("is ended by a signal in good order, and dies by it", async () => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const watching = start("watch", "quiet/1");
      await watching.noted("watching from ");
      watching.child.kill(signal);
      const { stderr, ...end } = await watching.result;
      expect(end).toMatchObject({ code: null, signal, stdout: "" });
      expect(stderr).toMatch(/^holdfast: watching from the end of log entry \d+\n$/);
    }
  });

  test("ends quietly behind `| head -1`, with the first change that nobody reads", async () => {
    const line = `"${process.execPath}" "${COMMAND}" watch head/1 | head -1`;
    const piped = start("run", "head/shell", "-c", line);
    await piped.noted("watching from ");
    const lock = await scene.client.acquire("head/1");
    await piped.printed("granted");
    // head ends on its own now, sooner or later.
    let isOver = false;
    const ended = piped.result.finally(() => {
      isOver = true;
    });
    await until("the end of the watch", async () => {
      await lock.update("v");
      return isOver;
    });
    await lock.release();
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[^\n]+granted +head\/1[^\n]+\n$/);
    expect(stderr).toMatch(/^holdfast: watching from [^\n]+\n$/);
  });

  test("is wrong usage with a key and a prefix, or a revision that is none", async () => {
    for (const args of [
      ["watch", "a", "--prefix", "b"],
      ["watch", "a", "--after", "7"],
      ["watch", "a", "--after", "0/0"],
      ["watch", "a", "--after", "1/4294967296"],
      ["watch", "a", "--count", "0"],
    ]) {
      const { code, stdout, stderr } = await ask(...args);
      expect([args, code, stdout]).toEqual([args, 2, ""]);
      expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
    }
  });
});
