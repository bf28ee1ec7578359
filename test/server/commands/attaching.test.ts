/** Sessions that attach to connections, through whole drivers: open and resume. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { MESSAGE, STATUS } from "../../../src/protocol/index.js";
import { startCluster } from "../world/cluster.js";

describe("attaching", () => {
  test("moves a session to the newest connection and closes the older one", async () => {
    const { world, leader, followers } = await startCluster();
    const older = world.client();
    await older.start(followers[0]);
    const newer = world.client();
    Object.assign(newer, { nonce: older.nonce, session: older.session, attempt: older.attempt });
    await newer.start(leader);
    await world.until("the older is closed", () => older.closed !== undefined);
    expect(older.closed).toEqual({ code: 1008, reason: "session attached elsewhere" });
    expect(newer.session).toBe(older.session);
    const reply = await newer.untilReply(newer.acquire("a"));
    expect(reply.result.status).toBe(STATUS.granted);
  });

  test("gives up an attempt that a later one has overtaken", async () => {
    const { world, leader, followers } = await startCluster();
    const newer = world.client();
    await newer.start(leader);
    newer.attempt = 5;
    newer.attach();
    await world.until("attached again", () => newer.attached(6) !== undefined);
    const stale = world.client();
    Object.assign(stale, { nonce: newer.nonce, session: newer.session, attempt: 2 });
    stale.connect(followers[0]);
    stale.attach();
    await world.until("the stale one is closed", () => stale.closed !== undefined);
    expect(stale.closed?.code).toBe(1008);
    expect(newer.closed).toBeUndefined();
  });

  test("answers open once, however often the command was sent", async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const { world, leader, followers } = await startCluster({ seed });
      const client = world.client();
      client.connect(followers[0]);
      client.attach();
      await world.run(1 + (seed % 5));
      leader.crash();
      await world.until("attached", () => client.attached(1) !== undefined);
      await world.run(3_000);
      expect(client.received.filter(({ kind }) => kind === MESSAGE.attached)).toHaveLength(1);
      expect(followers[0].table.counts().sessions).toBe(1);
    }
  });

  test("sends a command away that comes before it", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    client.connect(leader);
    client.acquire("a");
    await world.until("closed", () => client.closed !== undefined);
    expect(client.closed?.code).toBe(1008);
  });

  test("notifies a client whose session ended", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    await client.start(leader, 1_000);
    await client.untilReply(client.acquire("a"));
    await world.until("ended", () => client.received.some(({ kind }) => kind === MESSAGE.ended));
    // What was on its way is dropped; the connection stays, and what it kept is gone.
    const dropped = client.acquire("b");
    await world.run(1_000);
    expect(client.reply(dropped)).toBeUndefined();
    expect(client.closed).toBeUndefined();
    expect(leader.driver.status.keptBytes).toBe(0);
    client.disconnect();
    client.connect(leader);
    client.attach();
    await world.until("refused", () => client.attached(client.attempt) !== undefined);
    expect(client.attached(client.attempt)?.status).toBe(ERROR_NUMBERS.SESSION_EXPIRED);
  });

  test("frees what came on the connection before, even if it is applied afterwards", async () => {
    const { world, followers } = await startCluster();
    const [node] = followers;
    const client = world.client();
    await client.start(node, 5_000);
    const abandoned = client.session;
    client.acquire("a");
    Object.assign(client, { nonce: "f".repeat(32), session: 0, attempt: 0 });
    client.received.length = 0;
    client.attach();
    await world.run(2);
    // Said for the session before, and ordered after the attach.
    client.keepalive();
    await world.until("attached", () => client.attached(1) !== undefined);
    expect(client.session).not.toBe(abandoned);
    await world.run(100);
    expect(node.driver.status.keptBytes).toBe(0);
    await world.run(9_900);
    // Nobody renews the lease of the session that was left.
    expect(node.table.counts()).toMatchObject({ sessions: 1, holds: 0 });
  });

  test("is over before a command comes, or the connection is", async () => {
    const { world, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    client.attach();
    client.acquire("a");
    await world.until("closed", () => client.closed !== undefined);
    expect(client.closed?.code).toBe(1008);
    expect(followers[0].driver.status.keptBytes).toBe(0);
  });

  test("is forgotten when the same connection asks for something else instead", async () => {
    const { world, followers } = await startCluster();
    const [node] = followers;
    const client = world.client();
    client.connect(node);
    client.attach();
    client.session = 999;
    client.attach();
    await world.until("refused", () => client.attached(2) !== undefined);
    await world.run(100);
    expect(client.attached(1)).toBeUndefined();
    expect(client.attached(2)?.status).toBe(ERROR_NUMBERS.SESSION_EXPIRED);
    expect(node.driver.status.keptBytes).toBe(0);
  });
});
