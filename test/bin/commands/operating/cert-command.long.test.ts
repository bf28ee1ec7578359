/** `holdfast cert`: files that a cluster can use, and plain words for what is wrong with them. */
import { X509Certificate } from "node:crypto";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readCertifiedIdentity, readHosts } from "../../../../src/certificates/index.js";
import {
  AUTHORITY,
  nodeCertificate,
  OTHER_AUTHORITY,
} from "../../../certificates/test-certificates.js";
import { type CliResult, runCli } from "../../../e2e/world/command-line.js";
import { expectDocumented } from "../../../e2e/world/documented-json.js";

const DAY_MS = 86_400_000;

let place = "";
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "holdfast-cert-"));
});
afterEach(() => rm(place, { recursive: true, force: true }));

const cert = (...args: readonly string[]): Promise<CliResult> =>
  runCli(["cert", ...args], { cwd: place });

async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await cert(...args);
  expect([args, code, stderr]).toEqual([args, 0, ""]);
  return stdout;
}

const certificateIn = async (file: string): Promise<X509Certificate> =>
  new X509Certificate(await readFile(join(place, file)));
const modeOf = async (file: string): Promise<number> =>
  (await stat(join(place, file))).mode & 0o777;
const daysOf = ({ validTo }: X509Certificate): number =>
  Math.round((Date.parse(validTo) - Date.now()) / DAY_MS);

test("a CA, nodes and clients are made with three commands, and each is what it is called", async () => {
  expect(await done("ca")).toMatch(
    /^certs\/ca\.crt: a CA, CN=holdfast CA, until \d{4}-.*\ncerts\/ca\.key: its key, /,
  );
  const hosts = ["--host", "DB-1.example", "--host", "10.0.0.1,fd00::1"];
  await done("node", "1", ...hosts, "--cluster-name", "orders & co");
  await done("node", "2");
  await done("client", "a/b, c");
  expect((await readdir(join(place, "certs"))).sort()).toEqual([
    ...["ca.crt", "ca.key", "client-a%2Fb%2C%20c.crt", "client-a%2Fb%2C%20c.key"],
    ...["node-1.crt", "node-1.key", "node-2.crt", "node-2.key"],
  ]);
  const ca = await certificateIn("certs/ca.crt");
  const [one, two] = [
    await certificateIn("certs/node-1.crt"),
    await certificateIn("certs/node-2.crt"),
  ];
  const client = await certificateIn("certs/client-a%2Fb%2C%20c.crt");
  expect([ca.ca, daysOf(ca)]).toEqual([true, 3_650]);
  expect(readCertifiedIdentity(one)).toEqual({ kind: "node", cluster: "orders & co", nodeId: 1 });
  expect(readHosts(one)).toEqual(["db-1.example", "10.0.0.1", "fd00::1"]);
  expect(readCertifiedIdentity(two)).toEqual({ kind: "node", cluster: "holdfast", nodeId: 2 });
  expect(readHosts(two)).toEqual(["localhost", "127.0.0.1", "::1"]);
  expect(readCertifiedIdentity(client)).toEqual({
    ...{ kind: "client", cluster: "holdfast", name: "a/b, c" },
  });
  for (const issued of [one, two, client]) {
    expect([daysOf(issued), issued.verify(ca.publicKey)]).toEqual([397, true]);
  }
});

test("keys are for their owner alone, certificates for everybody", async () => {
  await done("ca");
  await done("client", "a");
  for (const name of ["ca", "client-a"]) {
    expect([name, await modeOf(`certs/${name}.key`)]).toEqual([name, 0o600]);
    expect([name, (await modeOf(`certs/${name}.crt`)) & 0o444]).toEqual([name, 0o444]);
  }
});

test("documents name the files, for whom they are, and until when", async () => {
  const ca = JSON.parse(await done("ca", "--days", "10", "--out", "x", "--json"));
  expect(ca).toEqual({
    ...{ kind: "ca", hosts: [], certificate: "x/ca.crt", key: "x/ca.key" },
    notAfter: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
  });
  const node = JSON.parse(await done("node", "7", "--ca-from", "x", "--host", "a", "--json"));
  expectDocumented(node, "cert ca, node, client");
  expect(node).toEqual({
    ...{ kind: "node", cluster: "holdfast", nodeId: 7, hosts: ["a"] },
    // No longer than its CA.
    ...{ certificate: "certs/node-7.crt", key: "certs/node-7.key", notAfter: ca.notAfter },
  });
});

test("the name of the cluster comes from the same place as for a node", async () => {
  await done("ca");
  const env = { HOLDFAST_CLUSTER_NAME: "prod" };
  const { code } = await runCli(["cert", "client", "a"], { cwd: place, env });
  expect(code).toBe(0);
  expect(readCertifiedIdentity(await certificateIn("certs/client-a.crt"))).toMatchObject({
    cluster: "prod",
  });
});

test("what is there is replaced only when it is told to, and both files or none", async () => {
  await done("ca");
  const before = await readFile(join(place, "certs/ca.key"), "utf8");
  await rm(join(place, "certs/ca.crt"));
  expect(await cert("ca")).toMatchObject({
    ...{ code: 1, stderr: "holdfast: certs/ca.key exists: --force replaces it\n" },
  });
  expect(await readdir(join(place, "certs"))).toEqual(["ca.key"]);
  await done("ca", "--force");
  expect((await readdir(join(place, "certs"))).sort()).toEqual(["ca.crt", "ca.key"]);
  expect(await readFile(join(place, "certs/ca.key"), "utf8")).not.toBe(before);
});

test.each<[string, readonly string[], number, string]>([
  [
    ...(["without a CA", ["node", "1"], 1] as const),
    "cannot read certs/ca.crt: there is no such file: make a CA with holdfast cert ca, or name its directory with --ca-from",
  ],
  [
    ...(["with a port", ["node", "1", "--host", "a:7411"], 2] as const),
    '"a:7411" is not a host: a DNS name or an IP address is required, without port; letters beyond a to z as xn--…',
  ],
  [
    ...(["of node 0", ["node", "0"], 2] as const),
    '"0" is not a node id: a whole number from 1 to 4294967295; see holdfast cert node --help',
  ],
  [
    ...(["without a name", ["client", ""], 2] as const),
    "a client's name has 1 to 64 characters, not 0",
  ],
  [
    ...(["with a control character", ["client", "a\u001b"], 2] as const),
    "a client's name must not have control characters",
  ],
  [
    ...(["for no day", ["client", "a", "--days", "0"], 2] as const),
    "option '--days <n>' argument '0' is invalid. A whole number from 1 to 36500 is required; see holdfast cert client --help",
  ],
])("a certificate %s is not made", async (title, args, code, text) => {
  if (title !== "without a CA") await done("ca");
  expect(await cert(...args)).toMatchObject({ code, stdout: "", stderr: `holdfast: ${text}\n` });
});

test("a CA of which the key is another's, or that is none, issues nothing", async () => {
  await mkdir(join(place, "certs"));
  const put = (name: string, text: string): Promise<void> =>
    writeFile(join(place, "certs", name), text);
  await put("ca.crt", AUTHORITY.certificatePem);
  await put("ca.key", OTHER_AUTHORITY.keyPem);
  const said: string[] = [];
  const fails = async (): Promise<void> => {
    const { code, stderr } = await cert("client", "a");
    expect(code).toBe(1);
    said.push(stderr);
  };
  await fails();
  await put("ca.crt", nodeCertificate(1).certificatePem);
  await put("ca.key", nodeCertificate(1).keyPem);
  await fails();
  const leaf = nodeCertificate(1);
  await put("ca.crt", leaf.certificatePem);
  await put("ca.key", leaf.keyPem);
  await fails();
  await put("ca.key", "nothing");
  await fails();
  expect(said).toEqual([
    "holdfast: the CA's key does not fit its certificate: they are of different CAs\n",
    "holdfast: the CA's key does not fit its certificate: they are of different CAs\n",
    "holdfast: the certificate given as the CA's must not issue others\n",
    expect.stringMatching(/^holdfast: the CA's key cannot be read: .*\n$/),
  ]);
  expect((await readdir(join(place, "certs"))).sort()).toEqual(["ca.crt", "ca.key"]);
});

test("a place that cannot be written is named", async () => {
  await writeFile(join(place, "file"), "");
  expect(await cert("ca", "--out", "file")).toMatchObject({
    ...{ code: 1, stderr: "holdfast: file is not a directory\n" },
  });
  expect(await cert("ca", "--out", "file/certs")).toMatchObject({
    code: 1,
    stderr: "holdfast: cannot write file/certs/ca.crt: a part of the path is not a directory\n",
  });
});

/** Another user than root, for whom modes of files count. */
const NOBODY = process.getuid?.() === 0 ? 65_534 : undefined;

test.runIf(NOBODY !== undefined)("a directory of another user is named", async () => {
  await mkdir(join(place, "theirs"));
  await chmod(place, 0o755);
  const result = await runCli(["cert", "ca", "--out", "theirs"], { cwd: place, uid: NOBODY ?? 0 });
  expect(result).toMatchObject({
    code: 1,
    stderr: "holdfast: cannot write theirs/ca.key: permission denied\n",
  });
});

test("show says for whom a certificate is, until when, and whether key and CA fit", async () => {
  await done("ca");
  await done("node", "1", "--host", "db-1");
  const shown = await done("show", "certs/node-1.crt");
  const [first = "", ...lines] = shown.trimEnd().split("\n");
  expect(first).toBe("for        node 1 of cluster holdfast");
  expect(lines).toEqual([
    "hosts      db-1",
    expect.stringMatching(/^valid {6}\d{4}-\S+ \S+ to \d{4}-\S+ \S+, 396 days left$/),
    "issued by  CN=holdfast CA",
    "key        certs/node-1.key fits",
    "CA         certs/ca.crt verifies it",
  ]);
  await done("client", "a");
  const ofClient = JSON.parse(await done("show", "certs/client-a.crt", "--json"));
  expectDocumented(ofClient, "cert show");
  const document = JSON.parse(await done("show", "certs/node-1.crt", "--json"));
  expect(document).toEqual({
    ...{ kind: "node", cluster: "holdfast", nodeId: 1, hosts: ["db-1"] },
    ...{
      subject: "CN=node 1",
      issuer: "CN=holdfast CA",
      serial: expect.stringMatching(/^[0-9a-f]+$/),
    },
    ...{ notBefore: expect.stringMatching(/Z$/), notAfter: expect.stringMatching(/Z$/) },
    ...{ isValidNow: true, keyFits: true, isVerified: true },
  });
  expect(await done("show", "certs/ca.crt")).toMatch(/^for {8}a CA, CN=holdfast CA\n/);
});

test("show fails for a key that does not fit, another CA, and a time that is over", async () => {
  await done("ca");
  await done("node", "1");
  await done("node", "2");
  const put = (name: string, text: string): Promise<void> => writeFile(join(place, name), text);
  await put("other.crt", OTHER_AUTHORITY.certificatePem);
  await put("old.crt", nodeCertificate(3, [], { from: -60 }).certificatePem);
  await put("new.crt", nodeCertificate(3, [], { from: 60 }).certificatePem);
  const shows = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await cert("show", ...args);
    expect([args, code, stderr]).toEqual([args, 1, ""]);
    return stdout;
  };
  const one = "certs/node-1.crt";
  expect(await shows(one, "--key", "certs/node-2.key")).toContain("certs/node-2.key DOES NOT FIT");
  expect(await shows(one, "--ca", "other.crt")).toContain("other.crt DOES NOT VERIFY it");
  expect(await shows("old.crt")).toContain("EXPIRED: ");
  expect(await shows("new.crt")).toContain("NOT YET: ");
  expect(JSON.parse(await shows("old.crt", "--ca", "other.crt", "--json"))).toMatchObject({
    ...{ isValidNow: false, keyFits: null, isVerified: false },
  });
});

test("show shows every certificate of a file, and nothing of what is none", async () => {
  await done("ca");
  await done("client", "a");
  const bundle = ["certs/ca.crt", "certs/client-a.crt"].map((file) => readFile(join(place, file)));
  await writeFile(join(place, "bundle.pem"), Buffer.concat(await Promise.all(bundle)));
  await copyFile(join(place, "certs/ca.crt"), join(place, "ca.crt"));
  const lines = (await done("show", "bundle.pem", "--json")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).kind)).toEqual(["ca", "client"]);
  expect(await cert("show", "certs/ca.key")).toMatchObject({
    ...{ code: 1, stdout: "", stderr: "holdfast: certs/ca.key has no certificate in it (PEM)\n" },
  });
  expect(await cert("show", "nothing.crt")).toMatchObject({
    ...{ code: 1, stderr: "holdfast: cannot read nothing.crt: there is no such file\n" },
  });
  expect(await cert("show", "bundle.pem", "--key", "certs/ca.crt")).toMatchObject({
    ...{ code: 1, stderr: expect.stringContaining("certs/ca.crt has no private key") },
  });
});

test("what a certificate of others says cannot write to the terminal", async () => {
  await done("ca");
  await done("client", "\u202eevil");
  const stdout = await done("show", "certs/client-%E2%80%AEevil.crt");
  expect(stdout).toContain("client \\u{202e}evil of cluster holdfast");
});
