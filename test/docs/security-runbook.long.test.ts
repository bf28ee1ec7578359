/**
 * The page on closing a cluster, followed word by word from an open cluster to a closed one and through
 * what can happen to it later. Two programs work meanwhile and must lose nothing. From the moment at which
 * the cluster is closed a stranger attacks it and must get nothing.
 *
 * In these blocks, in addition to what `document-page.ts` says:
 *
 *     ```json /etc/…     sets these keys in that file, on the machines that have it
 *     ```sh exits-5      must end with that exit code
 *
 * `# => text` is a line that the block prints, on standard output or error, in this order. What a
 * block takes as `given` is done before, and
 * two things that take time: `aged DIRECTORY`, the CA there is 40 days old; `expired FILE`, a certificate on a
 * machine has expired.
 */
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createAuthority,
  issueClientCertificate,
  issueNodeCertificate,
} from "../../src/certificates/index.js";
import { bareEnvironment } from "../e2e/world/command-line.js";
import { type CodeBlock, expectedOutput, isAsExpected } from "./document-page.js";
import { readBlocks } from "./document-project.js";
import { RunbookHosts } from "./runbook-hosts.js";
import { RunbookProgram } from "./runbook-program.js";
import { RunbookStranger } from "./runbook-stranger.js";

const PAGE = "docs/operating/security.md";
const BLOCKS = readBlocks([PAGE]);
const DAY_MS = 86_400_000;
const BLOCK_MS_MAX = 120_000;
/** Where the operator has CAs. */
const AUTHORITIES = ["old", "certs"];

/** What each attack was answered at least once by a node that runs. */
const REFUSALS = [
  "a lock: UNAUTHENTICATED",
  "a lock in plain text: UNAVAILABLE",
  "a lock as billing: UNAVAILABLE",
  "members: UNAUTHENTICATED",
  "the status: 401",
  "the status in plain text: it closed the connection without an answer; if it speaks TLS, its endpoint begins with wss://",
  "the port of nodes: it wants a certificate of this client (cert, key)",
  "the port of nodes as a node: it closed the connection without an answer; it may not accept the certificate of this client (cert)",
];

let directory: string;
let hosts: RunbookHosts;
let stranger: RunbookStranger | undefined;
/** The first block that did not go as the page says. What follows it means nothing then. */
let failed: string | undefined;

const programs = new Map(
  Object.entries({ billing: "orders/", reports: "reports/" }).map(([name, keys]) => [
    name,
    new RunbookProgram(keys, () => hosts.pathOn("app.example", `/etc/${name}/holdfast.json`)),
  ]),
);

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-runbook-"));
  hosts = await RunbookHosts.create(directory, programs);
});

afterAll(async () => {
  await stranger?.[Symbol.asyncDispose]();
  await Promise.all(Array.from(programs.values(), (program) => program.close()));
  await hosts?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

/** The certificates of all CAs that the page has made so far. */
function authorities(): string {
  return AUTHORITIES.map((name) => join(hosts.workplace, name, "ca.crt"))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, "utf8"))
    .join("");
}

/** Runs commands of the page with what those before them exported. */
function run(commands: string): Promise<{ readonly code: number; readonly printed: string }> {
  const exported = join(directory, "exported.sh");
  const script = [
    `if [ -e '${exported}' ]; then . '${exported}'; fi`,
    `trap 'code=$?; export -p > "${exported}"; exit $code' EXIT`,
    hosts.translated(commands),
  ].join("\n");
  const env = { ...bareEnvironment(), PATH: hosts.path, NO_COLOR: "1" };
  const options = { cwd: hosts.workplace, env, timeout: BLOCK_MS_MAX };
  return new Promise((resolve) => {
    // Both streams in the order in which they were written.
    execFile("sh", ["-euc", `exec 2>&1\n${script}`], options, (error, printed) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 255), printed });
    });
  });
}

/** Puts a CA from 40 days ago in the place of the one in a directory of the operator. */
function age(name: string): void {
  const now = new Date(Date.now() - 40 * DAY_MS);
  const authority = createAuthority({ name: "holdfast CA", days: 3_650, now });
  writeFileSync(join(hosts.workplace, name, "ca.crt"), authority.certificatePem);
  writeFileSync(join(hosts.workplace, name, "ca.key"), authority.keyPem);
}

/** Puts a certificate in the place of one on a machine that was valid until ten days ago. */
function letExpire(file: string): void {
  const [host = "", path = ""] = file.split(":");
  const read = (name: string): string => {
    return readFileSync(join(hosts.workplace, "certs", name), "utf8");
  };
  const authority = { certificatePem: read("ca.crt"), keyPem: read("ca.key") };
  const time = { days: 20, now: new Date(Date.now() - 30 * DAY_MS) };
  const [, kind, name = ""] = /(node|client)-(\w+)\.crt$/.exec(path) ?? [];
  const { certificatePem, keyPem } =
    kind === "client"
      ? issueClientCertificate(authority, { cluster: "holdfast", name, ...time })
      : issueNodeCertificate(authority, {
          ...{ cluster: "holdfast", nodeId: Number(name), hosts: ["127.0.0.1"] },
          ...time,
        });
  writeFileSync(hosts.pathOn(host, path), certificatePem);
  writeFileSync(hosts.pathOn(host, path.replace(".crt", ".key")), keyPem);
}

/** Each expected line is printed, after the one before. */
function expectPrinted(printed: string, block: CodeBlock): void {
  const lines = printed.split("\n");
  let at = 0;
  for (const expected of expectedOutput(block)) {
    const found = lines.findIndex((line, index) => index >= at && isAsExpected(line, expected));
    expect(found, `no line "${expected}" in\n${printed}`).toBeGreaterThan(-1);
    at = found + 1;
  }
}

async function follow(block: CodeBlock): Promise<void> {
  const { language, words, lines, given } = block;
  if (language === "json") {
    for (const path of words) hosts.configure(path, lines.join("\n"));
    return;
  }
  expect(language).toBe("sh");
  for (const { text } of given) {
    const [word, ...others] = text.split(" ");
    if (word === "aged") age(others.join(" "));
    else if (word === "expired") letExpire(others.join(" "));
    else expect(await run(text)).toMatchObject({ code: 0 });
  }
  const { code, printed } = await run(lines.join("\n"));
  expect(code, printed).toBe(Number(words[0]?.replace("exits-", "") ?? 0));
  expectPrinted(printed, block);
  if (lines.includes("holdfast access anonymous deny")) {
    const [clients, peers] = [hosts.addresses("7411"), hosts.addresses("7511")];
    const targets = clients.map((client, at) => ({ client, peer: peers[at] ?? "" }));
    stranger = new RunbookStranger(targets, authorities);
  }
}

/** By which the page asks a node whether it is ready. */
const HAS_CURL = spawnSync("curl", ["--version"]).status === 0;

describe.skipIf(!HAS_CURL)(`${PAGE} (needs curl)`, () => {
  test.sequential.each(BLOCKS.map((block) => [`line ${block.line}`, block] as const))(
    "%s",
    async (name, block) => {
      expect(failed, "a block before this one failed").toBeUndefined();
      failed = name;
      await follow(block);
      for (const program of programs.values()) await program.worksOn();
      expect(stranger?.got ?? []).toEqual([]);
      failed = undefined;
    },
    2 * BLOCK_MS_MAX,
  );

  test("ends with nothing lost by programs, and nothing got by a stranger", async () => {
    expect(failed, "a block failed").toBeUndefined();
    for (const program of programs.values()) await program.stop();
    await stranger?.[Symbol.asyncDispose]();
    expect(stranger?.got).toEqual([]);
    expect([...(stranger?.refusals ?? [])]).toEqual(expect.arrayContaining(REFUSALS));
  });
});
