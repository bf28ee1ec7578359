/**
 * The end of a peer's process as the links report it: by the closed connection, at once and once.
 * Silence is out of the question here, its limit is an hour.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { TcpProxy } from "../../../lab/tcp-proxy.js";
import type { PeerMessage } from "../../../src/net/types.js";
import { type Happening, loopback, PeerNode } from "./node.js";
import { killed, startPeerProcess } from "./process.js";

const NO_SILENCE = { silenceTimeoutMs: 3_600_000 };
const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const linkEvents = (node: PeerNode): Happening[] =>
  node.record.all.filter((event) => event.on === "up" || event.on === "down");
const forward = (size: number): PeerMessage => ({
  ...{ type: "forward", id: 1, term: 1 },
  records: new Uint8Array(size),
});

/** Node 1 here, and what starts node 2 as a process. */
async function nodeWithProcess(): Promise<{
  one: PeerNode;
  startTwo: (incarnation: number) => Promise<ChildProcess>;
}> {
  const [portOne = 0, portTwo = 0] = await freePorts(2);
  const peers = new Map([[2, loopback(portTwo)]]);
  const one = new PeerNode({ id: 1, port: portOne, peers, tuning: NO_SILENCE });
  cleanups.push(() => one.links.close());
  await one.start();
  const startTwo = async (incarnation: number): Promise<ChildProcess> => {
    const address = { parentId: 1, parentPort: portOne };
    const child = await startPeerProcess({ id: 2, port: portTwo, incarnation, ...address });
    cleanups.push(() => child.kill("SIGKILL"));
    return child;
  };
  return { one, startTwo };
}

describe("a peer whose process is killed", () => {
  test("is down as closed though nothing was ever sent to it, once, and up when it is back", async () => {
    const { one, startTwo } = await nodeWithProcess();
    const first = await startTwo(1);
    const epoch = await one.up(2);
    await killed(first);
    expect(await one.down(2)).toMatchObject({ epoch, closed: true });
    await startTwo(2);
    const again = await one.up(
      2,
      one.record.all.findIndex((event) => event.on === "down"),
    );
    expect(linkEvents(one)).toEqual([
      { on: "up", peer: 2, epoch },
      { on: "down", peer: 2, epoch, closed: true },
      { on: "up", peer: 2, epoch: again },
    ]);
    const identities = one.record.all.filter((event) => event.on === "identity");
    expect(identities.map(({ identity }) => identity.incarnation)).toEqual([1, 2]);
  });

  test("is down as closed though it had stopped reading and megabytes lay before it", async () => {
    const { one, startTwo } = await nodeWithProcess();
    const child = await startTwo(1);
    const epoch = await one.up(2);
    child.kill("SIGSTOP");
    for (let sent = 0; sent < 16; sent += 1) {
      one.links.send(2, 0, forward(1 << 20));
      one.links.flush();
    }
    expect(one.links.bufferedBytes(2)).toBeGreaterThan(0);
    await killed(child);
    expect(await one.down(2)).toMatchObject({ epoch, closed: true });
    expect(one.links.bufferedBytes(2)).toBe(0);
    expect(linkEvents(one)).toHaveLength(2);
  });
});

describe("the end of a connection", () => {
  test.each(["end", "reset"] as const)(
    "by %s is reported in the turn in which the kernel reports it",
    async (how) => {
      const [portOne = 0, portTwo = 0] = await freePorts(2);
      const proxy = await TcpProxy.to(portTwo);
      const peers = new Map([[1, loopback(portOne)]]);
      const two = new PeerNode({ id: 2, port: portTwo, peers, tuning: NO_SILENCE });
      const one = new PeerNode({
        ...{ id: 1, port: portOne, tuning: NO_SILENCE },
        peers: new Map([[2, proxy.address]]),
      });
      cleanups.push(() => Promise.all([one.links.close(), two.links.close()]));
      cleanups.push(() => proxy.close());
      await Promise.all([one.start(), two.start()]);
      await one.up(2);
      // A bare connection that the proxy ends in the same breath: it shows which turn that is.
      const bare = connect(proxy.address.port, proxy.address.host);
      await Promise.all([once(bare, "connect"), proxy.accepted(2)]);
      bare.resume();
      let turn = 0;
      const nextTurn = (): void => {
        turn += 1;
        turning = setImmediate(nextTurn);
      };
      let turning = setImmediate(nextTurn);
      cleanups.push(() => clearImmediate(turning));
      const seenByKernel = new Promise<number>((resolve) => {
        bare.once("end", () => resolve(turn));
        bare.once("error", () => resolve(turn));
      });
      const told = new Promise<number>((resolve) => {
        void one.record.until((all) => {
          const isDown = all.some((event) => event.on === "down");
          if (isDown) resolve(turn);
          return isDown;
        });
      });
      proxy[how]();
      expect(await told).toBe(await seenByKernel);
    },
  );
});
