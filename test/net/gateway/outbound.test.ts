/** What the connections of a gateway share while their clients read slowly, or not at all. */
import { expect, test } from "vitest";
import { GatewayConnection, Outbound } from "../../../src/net/gateway/connection.js";
import { GATEWAY_DEFAULTS } from "../../../src/net/gateway/options.js";
import { MESSAGE, type ServerMessage, STATUS } from "../../../src/protocol/index.js";
import { BareClient, TestGateway } from "./client.js";

function connectionsOf(gateway: TestGateway): GatewayConnection[] {
  return [...gateway.connections.values()].filter((each) => each instanceof GatewayConnection);
}

function answerTo(client: BareClient, id: number): Promise<ServerMessage> {
  return client.messages.find((message) => message.kind === MESSAGE.answer && message.id === id);
}

test("what waits for a slow reader arrives as it was, among pings and others' answers", async () => {
  const shared = await new TestGateway({ bufferedBytesMax: 1 << 30 }).start();
  const slow = await BareClient.attached(shared);
  const quick = await BareClient.attached(shared);
  const [toSlow, toQuick] = connectionsOf(shared);
  const textOf = (id: number, length: number): string => `${id}/`.repeat(1 + length / 8);
  const lengths = [1, 100, 5_000, 70_000, 300_000, 8];
  slow.socket.pause();
  const last = 240;
  let waitedMax = 0;
  for (let id = 1; id <= last; id += 1) {
    const length = lengths[id % lengths.length] ?? 0;
    const payload = textOf(id, length);
    toSlow?.send({ kind: MESSAGE.answer, id, status: STATUS.ok, payload });
    toQuick?.send({ kind: MESSAGE.answer, id, status: STATUS.ok, payload: textOf(id, 50) });
    shared.gateway.flush();
    toSlow?.send({ kind: MESSAGE.answer, id: last + id, status: STATUS.ok, payload: [id] });
    if (id % 7 === 0) quick.socket.ping();
    slow.socket.ping(`ping ${id}`);
    shared.gateway.flush();
    waitedMax = Math.max(waitedMax, toSlow?.bufferedBytes ?? 0);
    if (id === 200) slow.socket.resume();
    await new Promise(setImmediate);
  }
  expect(toSlow?.isOpen).toBe(true);
  expect(waitedMax).toBeGreaterThan(1 << 20);
  for (let id = 1; id <= last; id += 1) {
    const payload = textOf(id, lengths[id % lengths.length] ?? 0);
    expect(await answerTo(slow, id)).toMatchObject({ payload });
    expect(await answerTo(slow, last + id)).toMatchObject({ payload: [id] });
    expect(await answerTo(quick, id)).toMatchObject({ payload: textOf(id, 50) });
  }
  await shared.gateway.close();
});

test.each([
  [20, 300_000],
  [100, 12_000],
  [3_000, 1_000],
])("%i answers of %i characters do not take the place of many small ones", (count, length) => {
  const outbound = new Outbound(GATEWAY_DEFAULTS);
  const take = (wanted: number) => Array.from({ length: wanted }, () => outbound.takeSlot());
  const large = take(count);
  for (const { writer } of large) writer.string("x".repeat(length));
  for (const slot of large) slot.sent();
  const many = take(1_000);
  for (const slot of many) slot.sent();
  const before = new Set(many);
  expect(take(1_000).filter((slot) => !before.has(slot))).toEqual([]);
});

test("what is free in the pool is bounded by its bytes, whatever was in it before", () => {
  const outbound = new Outbound(GATEWAY_DEFAULTS);
  const take = (wanted: number) => Array.from({ length: wanted }, () => outbound.takeSlot());
  const small = take(20_000);
  const large = take(1_000);
  for (const { writer } of large) writer.string("x".repeat(10_000));
  for (const slot of [...small, ...large]) slot.sent();
  const before = new Set([...small, ...large]);
  const bytes = take(20_000)
    .filter((slot) => before.has(slot))
    .reduce((sum, { writer }) => sum + writer.capacity, 0);
  expect(bytes).toBeLessThanOrEqual(4 << 20);
  expect(bytes).toBeGreaterThan(3 << 20);
});

test("one that reads nothing is cut off when what is held for it is too much", async () => {
  const totalBufferedBytesMax = 4 << 20;
  const tight = await new TestGateway({ totalBufferedBytesMax, bufferedBytesMax: 1 << 30 }).start();
  const client = await BareClient.attached(tight);
  client.socket.pause();
  const [connection] = connectionsOf(tight);
  const say = (id: number, payload: unknown) => {
    connection?.send({ kind: MESSAGE.answer, id, status: STATUS.ok, payload });
    tight.gateway.flush();
  };
  while (connection !== undefined && connection.bufferedBytes < 500_000) {
    say(1, "x".repeat(100_000));
    await new Promise(setImmediate);
  }
  let said = 0;
  while (connection?.isOpen && said < 100_000) {
    said += 1;
    say(said, said);
    if (said % 100 === 0) await new Promise(setImmediate);
  }
  expect(connection?.isOpen).toBe(false);
  // A short answer occupies 512 bytes or more; some may still have been taken.
  expect(said).toBeLessThan((2 * totalBufferedBytesMax) / 512);
  client.socket.terminate();
  await tight.gateway.close();
});
