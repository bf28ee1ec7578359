/** The HTTP door over TLS: clients with certificates, and without. */
import { mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectAdmin } from "../../../src/index.js";
import {
  AUTHORITY,
  clientCertificate,
  nodeCertificate,
  OTHER_AUTHORITY,
  TEST_CLUSTER,
} from "../../net/tls/credentials.js";
import { DoorWorld } from "./door-world.js";

let world: DoorWorld;

beforeAll(async () => {
  world = new DoorWorld();
  const files = join(world.directory, "tls");
  mkdirSync(files);
  const own = nodeCertificate(1);
  writeFileSync(join(files, "cert.pem"), own.certificatePem);
  writeFileSync(join(files, "key.pem"), own.keyPem);
  writeFileSync(join(files, "ca.pem"), AUTHORITY.certificatePem);
  await world.add(1, {
    ...{ tlsCert: join(files, "cert.pem"), tlsKey: join(files, "key.pem") },
    ...{ tlsCa: join(files, "ca.pem"), clientCa: join(files, "ca.pem") },
    ...{ clusterName: TEST_CLUSTER, access: "required" },
  });
  await using admin = await connectAdmin({ endpoints: [`unix:${join(world.directory, "n1")}`] });
  await admin.access.addIdentity("worker");
  await admin.access.addCertificate("worker");
  await admin.access.grant("worker", "acquire", { prefix: "" });
});

afterAll(() => world.stop());

interface Shown {
  readonly cert?: string;
  readonly key?: string;
}

function take(shown: Shown): Promise<{ status: number; body: { code?: string; token?: number } }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ host: "127.0.0.1", port: world.port(), ca: AUTHORITY.certificatePem, ...shown },
        ...{ method: "PUT", path: "/v1/lock?key=k&ttl=30s", agent: false },
        headers: { "Holdfast-Owner": "a", "Idempotency-Key": "1" },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          text += piece;
        });
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) });
        });
      },
    );
    sent.on("error", reject);
    sent.end();
  });
}

test("a client speaks for the identity that its certificate names", async () => {
  const { certificatePem: cert, keyPem: key } = clientCertificate("worker");
  const taken = await take({ cert, key });
  expect(taken.status).toBe(200);
  await using admin = await connectAdmin({ endpoints: [`unix:${join(world.directory, "n1")}`] });
  expect((await admin.inspect("k")).holds).toMatchObject([{ identity: "worker" }]);
});

test("a client without a certificate or a token is nobody", async () => {
  expect((await take({})).status).toBe(401);
});

test("a name that the cluster does not know is nobody, and a node is not a client", async () => {
  const { certificatePem: cert, keyPem: key } = clientCertificate("stranger");
  expect([401, 403]).toContain((await take({ cert, key })).status);
  const node = nodeCertificate(2);
  const refused = await take({ cert: node.certificatePem, key: node.keyPem });
  expect(refused).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
});

test("a certificate of another authority is refused with a sentence", async () => {
  const other = clientCertificate("worker", { authority: OTHER_AUTHORITY });
  const refused = await take({ cert: other.certificatePem, key: other.keyPem });
  expect(refused).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
});
