/** Changes on their way to many connections: packed once for all of them. */
import { expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { packPayload } from "../../../src/net/framing/pack-payload.js";
import { MESSAGE, STATUS } from "../../../src/protocol/index.js";
import { BareClient, TestGateway } from "./client.js";

test("a change that goes to many connections in a turn is packed once", async () => {
  const gateway = await new TestGateway().start();
  const clients = [];
  for (let i = 0; i < 20; i += 1) clients.push(await BareClient.connect(gateway));
  let looks = 0;
  const revision = { index: 7, number: 0 };
  const change = {
    type: "granted",
    token: 2 ** 52 + 1,
    get key() {
      looks += 1;
      return "orders/1";
    },
    revision,
  };
  packPayload(change);
  const looksOfOne = looks;
  const other = { type: "ended", token: 3, key: "orders/2", revision: { index: 7, number: 1 } };
  for (const connection of gateway.connections.values()) {
    for (const id of [1, 2]) {
      const changes = id === 1 ? [change, other] : [change];
      const payload = { changes, revision };
      connection.send({ kind: MESSAGE.changes, id, status: STATUS.ok, payload });
    }
    const status = ERROR_NUMBERS.COMPACTED;
    connection.send({ kind: MESSAGE.changes, id: 3, status, payload: null });
  }
  gateway.gateway.flush();
  expect(looks).toBe(2 * looksOfOne);
  const told = { ...change };
  for (const client of clients) {
    await client.messages.until((all) => all.length === 4);
    const payloads = client.messages.all.slice(1).map((m) => "payload" in m && m.payload);
    expect(payloads).toEqual([
      { changes: [told, other], revision },
      { changes: [told], revision },
      null,
    ]);
  }
  await gateway.gateway.close();
});
