/** The cluster that the tests of the SDK use: what its nodes admit, keep and refuse. */
import { expect, it } from "vitest";
import { decodeServerFrame } from "../../../src/net/framing/index.js";
import {
  type Command,
  MESSAGE,
  OP,
  type SequencedCommand,
  type ServerMessage,
  STATUS,
  Writer,
  writeRequest,
} from "../../../src/protocol/index.js";
import { setUp } from "./set-up.js";
import type { TableServer } from "./table-server.js";

const NONCE = "0123456789abcdef0123456789abcdef";
const OPEN = {
  op: OP.open,
  nonce: NONCE,
  attempt: 1,
  ttlMs: 10_000,
  name: "",
  metadata: "",
} as const;

/** One connection on which frames are written by hand. */
class HandWritten {
  readonly said: ServerMessage[] = [];
  readonly #transport;

  constructor(server: TableServer) {
    this.#transport = server.connect(`${server.endpoints[0]}/v1`, {
      onProgress: () => undefined,
      onOpen: () => undefined,
      onFrame: (frame) => this.said.push(...decodeServerFrame(frame)),
      onClose: () => undefined,
    });
  }

  send(...commands: Command[]): void {
    const writer = new Writer();
    writer.beginFrame();
    for (const command of commands) writeRequest(writer, command);
    writer.endFrame(commands.length);
    this.#transport.toServer(writer.take().slice());
  }

  /** What was said about sequences, in order: replies as their status. */
  get answers(): unknown[] {
    return this.said.flatMap((message): unknown[] => {
      if (message.kind === MESSAGE.reply) return [[message.sequence, message.result.status]];
      return message.kind === MESSAGE.refused ? [[message.sequence, "refused"]] : [];
    });
  }
}

function acquire(sequence: number, key: string): SequencedCommand {
  const items = [{ key, mode: "exclusive" }] as const;
  return { op: OP.acquire, sequence, mark: 1, acknowledged: [], task: sequence, items, waitMs: 0 };
}

async function attached() {
  const { world, server } = setUp();
  const client = new HandWritten(server);
  await world.run(10);
  client.send(OPEN);
  await world.run(20);
  return { world, server, client };
}

it("drops what was sent after a refused command, until that number comes again", async () => {
  const { world, server, client } = await attached();
  server.faults.refuses = (command) => command.op === OP.acquire && command.items[0]?.key === "no";
  client.send(acquire(1, "a"), acquire(2, "no"), acquire(3, "c"));
  await world.run(20);
  client.send(acquire(2, "b"), acquire(3, "c"));
  await world.run(20);
  expect(client.answers).toEqual([
    [2, "refused"],
    [1, STATUS.granted],
    [2, STATUS.granted],
    [3, STATUS.granted],
  ]);
});

it("stops the test when a client leaves a number out, or uses one again", async () => {
  for (const sequence of [1, 3]) {
    const { world, client } = await attached();
    client.send(acquire(1, "a"), acquire(sequence, "b"));
    await expect(world.run(20)).rejects.toThrow("in place of 2");
  }
});

it("executes once and in order what nodes pass on several times, in any order, or lose", async () => {
  const { world, server, client } = await attached();
  server.faults.duplicates = 0.7;
  server.faults.losses = 0.3;
  for (let sequence = 1; sequence <= 200; sequence += 1) {
    client.send(acquire(sequence, `k/${sequence}`));
    await world.run(1);
  }
  await world.run(1_000);
  expect(client.answers).toEqual(Array.from({ length: 200 }, (_, i) => [i + 1, STATUS.granted]));
  expect(server.executed).toHaveLength(200);
  expect(server.applied.length).toBeGreaterThan(300);
});

it("answers a resume with what was executed, and executes nothing of the connection before", async () => {
  const { world, server, client } = await attached();
  server.faults.commitMs = [30, 30];
  client.send(acquire(1, "a"));
  await world.run(10);
  server.faults.commitMs = [1, 1];
  const next = new HandWritten(server);
  await world.run(10);
  const { session } = client.said.find(({ kind }) => kind === MESSAGE.attached) as {
    session: number;
  };
  next.send({ op: OP.resume, session, nonce: NONCE, attempt: 2 });
  await world.run(100);
  const answer = next.said.find(({ kind }) => kind === MESSAGE.attached);
  expect(answer).toMatchObject({ status: STATUS.ok, session });
  const { highestSequence } = answer as { highestSequence: number };
  expect(server.executed).toHaveLength(highestSequence);
});
