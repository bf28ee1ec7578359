/**
 * `holdfast access` and access tokens as people use them: an open cluster gets an admin, is closed,
 * and then serves each token what it was granted, and nobody else. Only the output of the command
 * that makes a token shows one.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, connectAdmin, HoldfastError } from "../../../src/index.js";
import { ClusterScene } from "../world/cluster-scene.js";
import { type CliResult, COMMAND } from "../world/command-line.js";
import { documentOf, expectFailure } from "../world/command-result.js";
import { expectDocumented } from "../world/documented-json.js";
import { until } from "../world/process-life.js";

interface TokenDocument {
  readonly label: string;
  readonly token: string | null;
}

const scene = new ClusterScene({ nodes: 1 });
const directory = mkdtempSync(join(tmpdir(), "holdfast-access-"));
const at = (name: string): string => join(directory, name);
const ADMIN = at("admin.token");
/** Everything that any command wrote, but for what it is there to show. */
let written = "";
const tokens = new Set<string>();

beforeAll(() => scene.start());
afterAll(async () => {
  await scene.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function hf(args: readonly string[], env: Record<string, string> = {}): Promise<CliResult> {
  const result = await scene.holdfast(args, { env });
  if (args[1] !== "token") written += result.stdout;
  written += result.stderr;
  return result;
}

/** As the admin. */
const asAdmin = (...args: readonly string[]): Promise<CliResult> =>
  hf(args, { HOLDFAST_ACCESS_TOKEN_FILE: ADMIN });
/** By the environment. */
const as = (token: string, ...args: readonly string[]): Promise<CliResult> =>
  hf(args, { HOLDFAST_ACCESS_TOKEN: token });
const anonymously = (...args: readonly string[]): Promise<CliResult> => hf(args);

async function madeToken(...args: readonly string[]): Promise<string> {
  const document = documentOf<TokenDocument>(await asAdmin("access", "token", ...args, "--json"));
  const token = document.token ?? "";
  tokens.add(token);
  return token;
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof HoldfastError ? error.code : String(error);
}

describe("an open cluster", () => {
  test("serves everyone, and is not closed by one who could not open it again", async () => {
    const whoami = await anonymously("access", "whoami");
    expect([whoami.code, whoami.stdout]).toEqual([0, "anonymous: admin on *\n"]);
    expectFailure(await anonymously("access", "anonymous", "deny"), 5, /you are anonymous/);
    const forced = await anonymously("access", "anonymous", "deny", "--force");
    expectFailure(forced, 5, /on all keys: afterwards no one could change access.*LAST_ADMIN/);
  });

  test("keeps no token that could not be printed", async () => {
    expect((await anonymously("access", "add", "unread")).code).toBe(0);
    const line = `"${process.execPath}" "${COMMAND}" access token unread > /dev/full; echo code $?`;
    const { stdout, stderr } = await anonymously("run", "shell", "-c", line);
    expect(stdout).toBe("code 1\n");
    expect(stderr).toMatch(
      /cannot write to standard output: .*; the access token was removed again\n$/,
    );
    const ls = documentOf(await anonymously("access", "ls", "unread", "--json"));
    expect(ls).toMatchObject({ name: "unread", credentials: [] });
    expect((await anonymously("access", "remove", "unread")).code).toBe(0);
  });

  test("gets its first admin once, with a token in a new file for the owner only", async () => {
    // As an `init` leaves it that was interrupted before it made the token.
    expect((await anonymously("access", "add", "admin")).code).toBe(0);
    writeFileSync(at("there"), "kept");
    const there = await anonymously("access", "init", "--out", at("there"));
    expectFailure(there, 1, /there exists already, and an access token replaces no file/);
    expect(readFileSync(at("there"), "utf8")).toBe("kept");
    const made = await anonymously("access", "init", "--out", ADMIN, "--label", "first");
    expect([made.code, made.stdout]).toEqual([0, ""]);
    expect(made.stderr).toMatch(
      /the access token of admin with the label first is in .*, for you only\n/,
    );
    expect(made.stderr).toMatch(
      /: so has everyone else, except at nodes with --access required\n.* holdfast access anonymous deny\n$/,
    );
    const again = await anonymously("access", "init");
    expectFailure(
      again,
      5,
      /with credentials already \(admin\): .* holdfast access token admin --local DIR/,
    );
    expect(statSync(ADMIN).mode & 0o777).toBe(0o600);
    const token = readFileSync(ADMIN, "utf8").trim();
    expect(token).toMatch(/^hf_[\w-]{48}$/);
    tokens.add(token);
    expect((await asAdmin("access", "whoami")).stdout).toBe("admin: admin on *\n");
    const open = await anonymously("access", "whoami");
    expect(open.stdout).toBe("anonymous: admin on *\n");
  });
});

describe("identities", () => {
  test("are made, granted something, shown and checked", async () => {
    for (const args of [
      ["add", "billing"],
      ["grant", "billing", "acquire", "orders*"],
      ["grant", "billing", "observe", "5*", "--exact"],
      ["certificate", "billing", "--expires", "30d"],
      ["check", "billing", "acquire", "orders/1"],
      ["revoke", "billing", "nothing"],
      ["remove", "billing", "--label", "none"],
      ["whoami"],
    ]) {
      const document = documentOf(await asAdmin("access", ...args, "--json"));
      expectDocumented(document, `access ${args[0]}`);
    }
    const ls = documentOf(await asAdmin("access", "ls", "billing", "--json"));
    expectDocumented(ls, "access ls");
    expect(ls).toMatchObject({
      name: "billing",
      grants: [
        { key: "orders", isPrefix: true, level: "acquire" },
        { key: "5*", isPrefix: false, level: "observe" },
      ],
      credentials: [{ label: "certificate", kind: "certificate" }],
    });
    const table = (await asAdmin("access", "ls")).stdout;
    expect(table).toMatch(/^IDENTITY +LEVEL +KEYS\nadmin +admin +\*\nanonymous +admin +\*\n/);
    expect(table).toMatch(/\nbilling +acquire +orders\*\nbilling +observe +5\* --exact\n/);
    expect(table).toMatch(/\nbilling +certificate +certificate +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\n/);
    const left = await asAdmin("access", "revoke", "billing", "orders/1");
    expect(left.stdout).toBe(
      "billing has no permission on orders/1; it still has acquire on orders*\n",
    );
  });

  test("check says yes or no, by which grant, with an exit code", async () => {
    for (const [level, key, code, text] of [
      ["acquire", "orders/1", 0, "yes: billing has acquire on orders*\n"],
      ["acquire", "orders-secret", 0, "yes: billing has acquire on orders*\n"],
      ["operate", "orders/1", 1, "no: billing has acquire on orders*\n"],
      ["observe", "5*", 1, "no: no permission of billing covers 5*\n"],
      ["observe", "order", 1, "no: no permission of billing covers order\n"],
    ] as const) {
      const { code: was, stdout } = await asAdmin("access", "check", "billing", level, key);
      expect([key, was, stdout]).toEqual([key, code, text]);
    }
    const nobody = await asAdmin("access", "check", "nobody", "observe", "k");
    expect([nobody.code, nobody.stdout]).toEqual([1, "no: there is no identity nobody\n"]);
  });

  test("what cannot be is refused with what would be right", async () => {
    const grant = (...args: readonly string[]) => asAdmin("access", "grant", ...args);
    expectFailure(
      await grant("billing", "own", "k"),
      2,
      /'own'.* observe, acquire, operate, admin/,
    );
    expectFailure(await grant("billing", "admin", "k*"), 2, /admin is granted on all keys only/);
    expectFailure(await grant("billing", "observe"), 2, /give a key, or a prefix/);
    expectFailure(await grant("a b", "observe", "k"), 2, /name is made of letters, digits/);
    expectFailure(await grant("nobody", "observe", "k"), 5, /no identity has that name/);
    expectFailure(await asAdmin("access", "token", "nobody"), 5, /no identity has that name/);
    expectFailure(await asAdmin("access", "ls", "nobody"), 5, /there is no identity nobody/);
    expectFailure(await asAdmin("access", "add", "local"), 2, /anonymous and local are reserved/);
    const brief = await asAdmin("access", "token", "billing", "--expires", "90");
    expectFailure(brief, 2, /a duration needs a unit/i);
    expectFailure(await asAdmin("access", "anonymous", "maybe"), 2, /allow, deny/);
  });
});

describe("a closed cluster", () => {
  let billing = "";

  test("is closed by an admin with a token, and then serves nobody without", async () => {
    billing = await madeToken("billing", "--label", "ci", "--expires", "90d");
    const denied = await asAdmin("access", "anonymous", "deny");
    expect([denied.code, denied.stdout]).toEqual([
      0,
      "the cluster is secured: anonymous has no permission, and 2 identities have credentials\n",
    ]);
    // The session of this test.
    expect(denied.stderr).toMatch(
      /^holdfast: 1 session is still anonymous: they keep what they hold/,
    );
    expectFailure(await anonymously("access", "init"), 5, /not open: .* access init --local DIR/);
    expectFailure(await as(billing, "access", "init"), 5, /no admin here: .* init --local DIR/);
    const there = await anonymously("access", "init", `--local=${scene.cluster.directory}/n1`);
    expectFailure(
      there,
      5,
      /already \(admin and 1 more\).*lost: holdfast access token admin --local/,
    );
    for (const args of [
      ["ls"],
      ["run", "-n", "k", "--", "true"],
      ["access", "ls"],
      ["settings", "get"],
    ]) {
      expectFailure(await anonymously(...args), 5, /does not know who asks.*--token-file/);
    }
    expect(await codeOf(connect({ endpoints: scene.endpoints }))).toBe("UNAUTHENTICATED");
    const added = await asAdmin("member", "add", "9", "127.0.0.1:7599", "--json");
    expect(documentOf<{ start: string[] }>(added).start).toContain("--token-file=FILE");
    expect((await asAdmin("member", "remove", "9")).code).toBe(0);
    expect((await asAdmin("ls")).code).toBe(0);
    expectFailure(await asAdmin("access", "remove", "admin"), 5, /LAST_ADMIN/);
  });

  test("lets an identity do what check says, and nothing else", async () => {
    for (const key of ["orders/1", "orders-secret", "billing", "5*"]) {
      const { code } = await asAdmin("access", "check", "billing", "acquire", key, "--exact");
      const { code: ran } = await as(billing, "run", "-n", key, "--", "true");
      expect([key, code, ran]).toEqual([key, code, code === 0 ? 0 : 5]);
    }
    const forbidden = await as(billing, "run", "billing", "--", "true");
    expectFailure(
      forbidden,
      5,
      /"billing": no permission of this client's identity allows that \(FORBIDDEN\)/,
    );
    const watch = await as(billing, "watch", "billing");
    expectFailure(
      watch,
      5,
      /the watch of "billing" was refused: no permission of .* \(FORBIDDEN\)/,
    );
    const snapshot = await as(billing, "snapshot", "save", at("x.snap"));
    expectFailure(snapshot, 5, /^holdfast: .* was refused: no permission of .* \(FORBIDDEN\)/);
    expect((await as(billing, "inspect", "5*")).code).toBe(0);
    expectFailure(await as(billing, "revoke", "--token", "9"), 5, /FORBIDDEN/);
    expectFailure(await as(billing, "access", "add", "more"), 5, /FORBIDDEN/);
    expectFailure(await as(billing, "settings", "set", "waitersMax", "9"), 5, /FORBIDDEN/);
    const own = await as(billing, "access", "check", "billing", "acquire", "orders/1");
    expect(own.code).toBe(0);
    expectFailure(await as(billing, "access", "check", "admin", "admin", "*"), 5, /FORBIDDEN/);
    await using admin = await connectAdmin({ endpoints: scene.endpoints, token: billing });
    expect(await admin.whoAmI()).toMatchObject({ name: "billing" });
  });

  test("run takes the token out of the environment of its command", async () => {
    const show = "env | grep -c ACCESS_TOKEN; env | grep -c HOLDFAST_TOKEN";
    const line = ["run", "orders/1", "--", "sh", "-c", show];
    const { code, stdout } = await scene.holdfast(line, {
      env: { HOLDFAST_ACCESS_TOKEN: billing, HOLDFAST_ACCESS_TOKEN_FILE: "/nowhere" },
    });
    expect([code, stdout]).toEqual([0, "0\n1\n"]);
  });

  test("takes a token from a file, which only its owner should be able to read", async () => {
    const file = at("billing.token");
    writeFileSync(file, `${billing}\n`, { mode: 0o600 });
    const quiet = await anonymously("access", "whoami", "--token-file", file);
    expect([quiet.stdout, quiet.stderr]).toEqual([expect.stringMatching(/^billing: /), ""]);
    chmodSync(file, 0o644);
    const warned = await anonymously("access", "whoami", "--token-file", file);
    expect([warned.code, warned.stderr]).toEqual([
      0,
      `holdfast: other users of this machine can read the access token in ${file}: chmod 600 ${file}\n`,
    ]);
    // A flag counts for more than the environment, and the token there for more than a file there.
    const flag = await as("unknown-token", "access", "whoami", "--token-file", file);
    expect(flag.code).toBe(0);
    const both = { HOLDFAST_ACCESS_TOKEN: billing, HOLDFAST_ACCESS_TOKEN_FILE: "/nowhere" };
    expect((await hf(["access", "whoami"], both)).stdout).toMatch(/^billing: /);
    writeFileSync(at("empty"), "\n");
    expectFailure(await anonymously("ls", "--token-file", at("empty")), 2, /empty is empty/);
    expectFailure(
      await anonymously("ls", "--token-file", at("no")),
      2,
      /cannot read .*no such file/,
    );
  });

  test("refuses a wrong token with a reason, and none is taken from a command line", async () => {
    const wrong = `hf_${"x".repeat(48)}`;
    expectFailure(await as(wrong, "ls"), 2, /the access token is damaged/);
    writeFileSync(at("damaged"), wrong, { mode: 0o600 });
    expectFailure(await anonymously("ls", "--token-file", at("damaged")), 2, /token is damaged/);
    const foreign = await as("token-of-another-cluster", "ls");
    expectFailure(
      foreign,
      5,
      /unknown credential: it was removed or replaced, or belongs to another cluster/,
    );
    const far = { HOLDFAST_ACCESS_TOKEN: billing, HOLDFAST_ENDPOINTS: "ws://192.0.2.1:7411" };
    expectFailure(await hf(["ls"], far), 2, /only through wss:\/\/ or to this machine/);
    for (const flag of ["--token", "--access-token"]) {
      for (const args of [
        ["ls", flag, billing],
        ["ls", `${flag}=${billing}`],
      ]) {
        expectFailure(await anonymously(...args), 2, /every user of this machine can read/);
      }
    }
    expectFailure(await anonymously("revoke", "--token", billing), 2, /'hf_…' is invalid/);
    expectFailure(await anonymously("ls", "--token-file", billing), 2, /cannot read hf_…/);
    expectFailure(await anonymously(`--token=${billing}`, "ls"), 2, /'--token=hf_…'/);
    const address = `wss://user:${billing}@127.0.0.1:1`;
    expect((await hf(["ls"], { HOLDFAST_ENDPOINTS: address })).code).toBe(2);
  });

  test("is joined by a node that has a token, while another waits and says what it lacks", async () => {
    const { node, address } = await scene.cluster.newcomer(2);
    expect((await asAdmin("member", "add", "2", address)).code).toBe(0);
    const [clients, peers] = [new URL(node.endpoint).host, address];
    const line = ["server", "--id=2", `--data=${at("n2")}`, `--listen=${clients}`];
    line.push(`--peer-listen=${peers}`, `--join=${scene.endpoints}`);
    const waiting = scene.startHoldfast(line);
    await waiting.noted("the cluster is secured: this node needs an access token");
    waiting.child.kill();
    expect((await waiting.result).code).toBe(0);
    const joining = scene.startHoldfast(line, { env: { HOLDFAST_ACCESS_TOKEN: billing } });
    await joining.noted("peer link up peer=1");
    written += joining.stderr;
    joining.child.kill();
    expect((await joining.result).code).toBe(0);
    expect((await asAdmin("member", "remove", "2")).code).toBe(0);
  });

  test("notifies a client whose token is removed, and its locks", async () => {
    const client = await connect({ endpoints: scene.endpoints, token: billing, ttlMs: 60_000 });
    const lock = await client.acquire("orders/9");
    const line = ["run", "orders/8", "--", "sh", "-c", "echo held; sleep 60"];
    const running = scene.startHoldfast(line, { env: { HOLDFAST_ACCESS_TOKEN: billing } });
    await running.printed("held");
    expect((await asAdmin("access", "remove", "billing", "--label", "ci")).code).toBe(0);
    await until("the end of the client", () => client.closed.aborted);
    expect(client.closed.reason).toMatchObject({ code: "UNAUTHENTICATED" });
    expect(lock.isHeld).toBe(false);
    const ended = await running.result;
    expect([ended.code, ended.stderr]).toEqual([
      6,
      expect.stringMatching(/orders\/8 is lost, because the cluster no longer accepts the cred/),
    ]);
    expectFailure(await as(billing, "ls"), 5, /UNAUTHENTICATED/);
    // The session is still there, and goes with its identity.
    const inspected = await asAdmin("inspect", "orders/9", "--json");
    expect(documentOf<{ holds: unknown[] }>(inspected).holds).toHaveLength(1);
    expect((await asAdmin("access", "remove", "billing")).code).toBe(0);
    const free = await asAdmin("run", "-w", "10s", "orders/9", "--", "true");
    expect(free.code).toBe(0);
  });

  test("is opened again by an admin", async () => {
    const opened = await asAdmin("access", "anonymous", "allow");
    expect(opened.stdout).toBe("the cluster is open: every client may do everything\n");
    expect((await anonymously("ls")).code).toBe(0);
  });
});

test("no token was written by any other command, nor by the node", async () => {
  expect(tokens.size).toBe(2);
  for (const token of tokens) {
    expect(token).toMatch(/^hf_[\w-]{48}$/);
    for (const text of [written, ...scene.cluster.nodes.map(({ stderr }) => stderr)]) {
      expect(text).not.toContain(token.slice(3));
    }
  }
});
