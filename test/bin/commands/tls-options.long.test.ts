/** `--ca`, `--cert` and `--cert-key` of the commands that connect, against nodes that demand them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { IssuedCertificate } from "../../../src/certificates/index.js";
import {
  AUTHORITY,
  clientCertificate,
  nodeCertificate,
  OTHER_AUTHORITY,
} from "../../certificates/test-certificates.js";
import { SocketTable } from "../../client/world/socket-table.js";
import { type CliOptions, type CliResult, runCli } from "../../e2e/world/command-line.js";
import { statusPage } from "./operating/status-page.js";

const NODE = nodeCertificate(1);
const DEMANDING: ServerOptions = {
  ...{ cert: NODE.certificatePem, key: NODE.keyPem, ca: AUTHORITY.certificatePem },
  ...{ requestCert: true, rejectUnauthorized: true },
};
const FLAGS = ["--ca", "ca.crt", "--cert", "client.crt", "--cert-key", "client.key"];
const VARIABLES = {
  ...{ HOLDFAST_CA: "ca.crt", HOLDFAST_CERT: "client.crt", HOLDFAST_CERT_KEY: "client.key" },
};

let place = "";
let node: SocketTable;
beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "holdfast-tls-options-"));
  const put = (name: string, { certificatePem, keyPem }: IssuedCertificate): Promise<unknown> =>
    Promise.all([
      writeFile(join(place, `${name}.crt`), certificatePem),
      writeFile(join(place, `${name}.key`), keyPem),
    ]);
  await put("ca", AUTHORITY);
  await put("other", OTHER_AUTHORITY);
  await put("client", clientCertificate("ops"));
  await put("second", clientCertificate("second"));
  await writeFile(join(place, "empty.crt"), "");
  await writeFile(join(place, "text.crt"), "nothing\n");
  node = await SocketTable.listen(DEMANDING);
});
afterAll(async () => {
  await node.close();
  await rm(place, { recursive: true, force: true });
});

const cli = (args: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
  runCli(args, { cwd: place, ...options });
const at = (endpoint: string): string => `--endpoints=${endpoint}`;

/** Prints what a command under the lock finds. */
const PRINT = `process.stdout.write(JSON.stringify([process.env.HOLDFAST_CA,
  process.env.HOLDFAST_CERT, process.env.HOLDFAST_CERT_KEY, process.env.HOLDFAST_KEY]))`;

describe("a node that demands a certificate serves a command that has the files", () => {
  test("from flags, and the command under the lock finds them wherever it is", async () => {
    const print = [process.execPath, "-e", PRINT];
    const result = await cli(["run", "k", ...FLAGS, at(node.endpoint), "--", ...print]);
    expect([result.code, result.stderr]).toEqual([0, ""]);
    const files = ["ca.crt", "client.crt", "client.key"].map((file) => join(place, file));
    expect(JSON.parse(result.stdout)).toEqual([...files, "k"]);
  });

  test("from the environment, and from a file", async () => {
    const ls = ["member", "ls", "--json", at(node.endpoint)];
    expect(await cli(ls, { env: VARIABLES })).toMatchObject({ code: 0, stderr: "" });
    const keys = { ca: "ca.crt", cert: "client.crt", certKey: "client.key" };
    await writeFile(join(place, "holdfast.json"), JSON.stringify(keys));
    const result = await cli([...ls, "--config", "holdfast.json"]);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(result.stdout)).toMatchObject({ leaderId: 1 });
  });

  test("to show its status", async () => {
    const page = await statusPage(1, { role: "leader" }, DEMANDING);
    const { code, stdout, stderr } = await cli(["status", "--json", ...FLAGS, at(page)]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ nodes: [{ id: 1, role: "leader" }] });
  });
});

test("nodes that verified ones name at ws:// are not asked, and shown as such", async () => {
  const plain = await statusPage(2, { role: "follower" });
  const peers = [{ id: 2, endpoint: plain }];
  const page = await statusPage(1, { role: "leader", peers }, DEMANDING);
  const { code, stdout } = await cli(["status", ...FLAGS, at(page)]);
  expect(code).toBe(0);
  const [line] = stdout.split("\n").filter((text) => text.includes(plain));
  expect(line).toMatch(/^ +2 {2}- +unreachable /);
  expect(line).toContain("not asked: named by a node at wss://, and without TLS itself");
});

test("a command that cannot verify its node says so while it tries, and as it ends", async () => {
  const args = ["--ca", "other.crt", "--connect-timeout", "4s", at(node.endpoint)];
  const { code, stdout, stderr } = await cli(["member", "ls", ...args]);
  const why =
    "its certificate is from a CA that is not trusted here: give the CA of the cluster (ca)";
  expect([code, stdout]).toEqual([4, ""]);
  expect(stderr).toBe(
    `holdfast: no node answers at ${node.endpoint}: ${why}: still trying\n` +
      `holdfast: no node answers: ${node.endpoint}: ${why} (UNAVAILABLE)\n`,
  );
});

test.each<[string, readonly string[], string]>([
  ["a certificate alone", ["--cert", "client.crt"], "--cert and --cert-key need each other"],
  ["a key alone", ["--cert-key", "client.key"], "--cert and --cert-key need each other"],
  ["a file that is not there", ["--ca", "no.crt"], "cannot read no.crt: there is no such file"],
  ["an empty file", ["--ca", "empty.crt"], "empty.crt is empty: a PEM file is required"],
  [
    "a file of something else",
    ["--ca", "text.crt"],
    "ca is not PEM: it must have a line that starts with -----BEGIN (INVALID_ARGUMENT)",
  ],
  [
    "a key of another",
    ["--cert", "client.crt", "--cert-key", "second.key"],
    "key is not the key of cert: give the pair that was made together (INVALID_ARGUMENT)",
  ],
])("%s is wrong usage", async (_, flags, text) => {
  for (const command of [["member", "ls"], ["status"]]) {
    const { code, stdout, stderr } = await cli([...command, ...flags, at("wss://127.0.0.1:1")]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`holdfast: ${text}`);
  }
});

test("files that no endpoint has any use for are wrong usage", async () => {
  const { code, stderr } = await cli(["member", "ls", "--ca", "ca.crt", at("db-1:7411")]);
  expect([code, stderr]).toEqual([
    2,
    "holdfast: --ca needs an endpoint that begins with wss://: see --endpoints, which is ws://db-1:7411\n",
  ]);
});
