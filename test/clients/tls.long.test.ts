/** The clients that take certificates from the environment, at a node that demands one from each client. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAuthority } from "../../src/certificates/index.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { clientOf, NodeCertificates, nodeOf, observerTls } from "../e2e/world/node-certificates.js";
import { LANGUAGES, startDriver } from "./languages.js";

const AUTHORITY = createAuthority({ name: "authority of the test", days: 30 });
const FOREIGN = createAuthority({ name: "another authority", days: 30 });
const part = { lock: { keys: ["tls"], ttlMs: 12_000, waitMs: 1_000 } };
let files: NodeCertificates;
let cluster: ClusterProcess;

beforeAll(async () => {
  files = new NodeCertificates();
  const own = nodeOf(AUTHORITY, 1);
  files.write(1, own, AUTHORITY.certificatePem);
  const tls = observerTls(own, AUTHORITY.certificatePem);
  cluster = await startCluster({ nodes: 1, argumentsOf: (id) => files.argumentsOf(id), tls });
});

afterAll(async () => {
  await cluster?.stop();
  files?.remove();
});

function environmentWith(authority: typeof AUTHORITY): Readonly<Record<string, string>> {
  const { certificatePem, keyPem } = clientOf(AUTHORITY);
  const contents = {
    HOLDFAST_CA: authority.certificatePem,
    HOLDFAST_CERT: certificatePem,
    HOLDFAST_CERT_KEY: keyPem,
  };
  return Object.fromEntries(
    Object.entries(contents).map(([name, text]) => {
      const path = join(files.directory, `${authority === AUTHORITY ? "own" : "foreign"}-${name}`);
      writeFileSync(path, text);
      return [name, path];
    }),
  );
}

/** The others are given their certificates by the program. */
const CONFIGURED = ["python", "python-asyncio", "go", "shell"];

for (const language of LANGUAGES.filter(({ name }) => CONFIGURED.includes(name))) {
  const { name, missing, prepare } = language;
  describe.skipIf(missing !== undefined)(`${name} [${missing ?? "is tested"}]`, () => {
    beforeAll(prepare, 300_000);

    test("shows its certificate to a node that it trusts", async () => {
      const environment = environmentWith(AUTHORITY);
      const driver = startDriver(language, part, cluster.endpoints.join(), "", environment);
      expect(await driver.reports).toMatchObject({ outcome: "released" });
    });

    test("takes no lock from a node that it does not trust", async () => {
      const environment = environmentWith(FOREIGN);
      const driver = startDriver(language, part, cluster.endpoints.join(), "", environment);
      expect(await driver.reports).toEqual({ outcome: "UNAVAILABLE" });
    });
  });
}
