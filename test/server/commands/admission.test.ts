/** Which commands a node takes, in which order, and until when it keeps them and sends them again. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import type { PeerMessage } from "../../../src/net/index.js";
import {
  type AttachCommand,
  type Attached,
  attachKeyOf,
  decodeCommands,
  END_REASON,
  IN_FLIGHT_MAX,
  MESSAGE,
  OP,
  type SequencedCommand,
  type SessionCommand,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { Admission, KEPT_PER_CONNECTION_MAX } from "../../../src/server/commands/admission.js";
import { type Attachment, Attachments } from "../../../src/server/commands/attachments.js";
import { Capacity } from "../../../src/server/commands/capacity.js";
import { Forwarding } from "../../../src/server/commands/forwarding.js";
import { KeptCommands } from "../../../src/server/commands/kept-commands.js";
import { WaitingLine } from "../../../src/server/commands/waiting-line.js";
import { NODE_TUNING_DEFAULTS } from "../../../src/server/options.js";
import { CommandTimes } from "../../../src/server/vitals/command-times.js";
import { encodeCommand } from "../../protocol/command-bytes.js";
import { RecordingConnection } from "../world/recording-connection.js";

const { BUSY, DISK_FULL, INVALID_ARGUMENT } = ERROR_NUMBERS;
const BYTES_MAX = 1_000;
const TUNING = { ...NODE_TUNING_DEFAULTS, uncommittedBytesMax: BYTES_MAX };
const RETRY_MS = 100;
const RESEND_MS = 3_000;
const SESSION = 7;
const NONCE = "0".repeat(32);

/** Strong. */
function acquire(sequence: number, mark = sequence): SequencedCommand {
  const items = [{ key: "a", mode: "exclusive" }] as const;
  const head = { sequence, mark, acknowledged: [] };
  return { op: OP.acquire, ...head, task: 1, items, waitMs: WAIT_FOREVER };
}

/** Weak. */
function end(sequence: number): SequencedCommand {
  return { op: OP.end, sequence, mark: sequence, acknowledged: [], target: 1 };
}

const KEEPALIVE: SessionCommand = { op: OP.keepalive, number: 1, mark: 1, acknowledged: [] };
const RECALL: SessionCommand = {
  op: OP.recall,
  number: 2,
  mark: 1,
  acknowledged: [],
  sequences: [1],
};

function open(attempt: number): AttachCommand {
  return { op: OP.open, nonce: NONCE, attempt, ttlMs: 2_000, name: "", metadata: "" };
}

class Node {
  readonly raft = { role: "follower" as "follower" | "leader", uncommittedBytes: 0 };
  readonly handOver = { isDiskFull: false };
  readonly log = { freeBytes: TUNING.segmentBytes };
  readonly memory = { isScarce: false };
  isOverLimit = false;
  nowMs = 0;
  readonly sent: PeerMessage[] = [];
  readonly line = new WaitingLine();
  readonly attachments: Attachments = new Attachments({
    onTold: (attachment, message) => this.kept.onTold(attachment, message),
    onCutOff: (attachment) => this.kept.drop(attachment),
  });
  readonly kept: KeptCommands = new KeptCommands(
    this.attachments,
    new CommandTimes({ nowMs: () => this.nowMs }),
  );
  readonly capacity: Capacity;
  readonly admission: Admission;
  readonly forwarding = new Forwarding(this.kept, this.line, {
    batchBytesMax: BYTES_MAX,
    retryAfterMs: RETRY_MS,
    resendAfterMs: RESEND_MS,
  });
  /** The id of what was forwarded last. */
  lastId = 0;
  #connections = 0;

  constructor(bytesMax = BYTES_MAX) {
    const tuning = { ...TUNING, uncommittedBytesMax: bytesMax };
    this.capacity = new Capacity(
      {
        ...{ raft: this.raft, line: this.line, kept: this.kept, handOver: this.handOver },
        ...{ log: this.log, memory: this.memory, clock: { nowMs: () => this.nowMs } },
        send: (_peer, message) => this.sent.push(message),
      },
      tuning,
    );
    this.admission = new Admission({
      nodeId: 1,
      ...{ attachments: this.attachments, kept: this.kept, line: this.line },
      ...{ capacity: this.capacity, clock: { nowMs: () => this.nowMs }, wake: () => {} },
      limits: { refusesCommand: () => this.isOverLimit },
    });
  }

  connect(): Client {
    this.#connections += 1;
    return new Client(this, new RecordingConnection(this.#connections));
  }

  /** A client of session 7. */
  attach(highestSequence = 0): Client {
    const client = this.connect();
    client.attach(open(1));
    client.bind(open(1), highestSequence);
    return client;
  }

  /** Numbers of the commands that leave for the leader now; keepalives and recalls are 0. */
  forward(): number[] {
    const numbers: number[] = [];
    this.forwarding.forward(1, this.nowMs, (message) => {
      if (message.type !== "forward") return;
      this.lastId = message.id;
      for (const { command } of decodeCommands(message.records, 0)) {
        numbers.push(command !== undefined && "sequence" in command ? command.sequence : 0);
      }
    });
    return numbers;
  }

  /** Fills the node with what another client sent. */
  fill(bytes: number): void {
    const other = this.attachments.add(new RecordingConnection(1_000));
    this.kept.keep(other, KEEPALIVE, new Uint8Array(bytes - 16));
  }
}

class Client {
  readonly connection: RecordingConnection;
  readonly attachment: Attachment;
  readonly #node: Node;

  constructor(node: Node, connection: RecordingConnection) {
    this.#node = node;
    this.connection = connection;
    this.attachment = node.attachments.add(connection);
  }

  attach(command: AttachCommand): void {
    this.#node.admission.attach(this.attachment, command, encodeCommand(command));
  }

  /** The table lets it have session 7. */
  bind(command: AttachCommand, highestSequence = 0): void {
    const attached: Attached = {
      ...{ kind: MESSAGE.attached, key: attachKeyOf(command), attempt: command.attempt },
      ...{ status: STATUS.ok, session: SESSION, epoch: command.attempt },
      ...{ highestSequence, stamp: 1, ttlMs: 2_000, index: 1 },
    };
    this.#node.attachments.attached(attached);
  }

  say(...commands: readonly SessionCommand[]): void {
    for (const command of commands) {
      if (this.attachment.isClosed) return;
      this.#node.admission.command(this.attachment, command, encodeCommand(command));
    }
  }

  invalid(op: number, id: number): void {
    this.#node.admission.invalid(this.attachment, op, id);
  }

  /** The table executed it. */
  executed(sequence: number): void {
    const result = { status: STATUS.ok };
    this.#node.attachments.toSession(this.connection.session, this.connection.attachEpoch, {
      ...{ kind: MESSAGE.reply, sequence, stamp: 1, result },
    });
  }

  get refused(): [number, number][] {
    return this.connection.sent.flatMap((message) =>
      message.kind === MESSAGE.refused ? [[message.sequence, message.status]] : [],
    );
  }

  get closedWith(): number | undefined {
    return this.connection.closedWith?.code;
  }
}

describe("commands of a session", () => {
  test("are admitted one after the other, from the one after the highest", () => {
    const node = new Node();
    const client = node.attach(41);
    client.say(acquire(42), KEEPALIVE, end(43));
    expect(node.forward()).toEqual([42, 0, 43]);
    expect(client.closedWith).toBeUndefined();
    expect(client.refused).toEqual([]);
  });

  test.each([
    ["a gap", [acquire(1), acquire(3)]],
    ["one below the next", [acquire(1), acquire(1)]],
    ["a mark too far below", [acquire(IN_FLIGHT_MAX + 1, 1)]],
  ])("end the connection with 1008 for %s", (_what, commands) => {
    const node = new Node();
    const first = commands[0]?.sequence ?? 1;
    const client = node.attach(first - 1);
    client.say(...commands);
    expect(client.closedWith).toBe(1008);
    expect(node.kept.bytes).toBe(0);
  });

  test("may be as many above the mark as the window has", () => {
    const node = new Node();
    const client = node.attach(IN_FLIGHT_MAX - 1);
    client.say(acquire(IN_FLIGHT_MAX, 1));
    expect(client.closedWith).toBeUndefined();
    expect(node.forward()).toEqual([IN_FLIGHT_MAX]);
  });

  test("end the connection while an attach is awaited, and before the first one", () => {
    const node = new Node();
    const client = node.attach();
    client.attach(open(2));
    client.say(acquire(1));
    expect(client.closedWith).toBe(1008);
    const stranger = node.connect();
    stranger.say(acquire(1));
    expect(stranger.closedWith).toBe(1008);
  });

  test("are dropped once their session has ended, and what was kept with them", () => {
    const node = new Node();
    const client = node.attach();
    client.say(acquire(1));
    const { expired: reason } = END_REASON;
    const ended = { kind: MESSAGE.ended, session: SESSION, reason } as const;
    node.attachments.toSession(SESSION, 2, ended);
    expect(node.kept.bytes).toBeGreaterThan(0);
    node.attachments.toSession(SESSION, 1, ended);
    expect(node.kept.bytes).toBe(0);
    client.say(acquire(2), end(3));
    expect(client.closedWith).toBeUndefined();
    expect(client.refused).toEqual([]);
    expect(node.forward()).toEqual([]);
  });

  test("and what has no number are no more than one connection may have, whatever it says it read", () => {
    const node = new Node(32 << 20);
    const [flooding, other] = [node.attach(), node.connect()];
    for (let n = 1; n <= KEPT_PER_CONNECTION_MAX; n += 1) flooding.say(acquire(n));
    expect(flooding.closedWith).toBeUndefined();
    flooding.say(KEEPALIVE);
    expect(flooding.closedWith).toBe(1008);
    expect(other.closedWith).toBeUndefined();
    expect(node.kept.bytes).toBe(0);
  });
});

describe("a refused command", () => {
  test("is named once, and takes with it what comes after it until it comes again", () => {
    const node = new Node();
    const client = node.attach();
    client.say(acquire(1));
    node.memory.isScarce = true;
    client.say(acquire(2), end(3), acquire(4));
    expect(client.refused).toEqual([[2, BUSY]]);
    expect(node.admission.refusedCount).toBe(1);
    node.memory.isScarce = false;
    // What was on its way is dropped, though there is room again.
    client.say(end(3));
    expect(client.refused).toEqual([[2, BUSY]]);
    client.say(end(2), acquire(3));
    expect(client.refused).toEqual([[2, BUSY]]);
    expect(node.forward()).toEqual([1, 2, 3]);
    expect(client.closedWith).toBeUndefined();
  });

  test("is named again when it comes again and there is still no room", () => {
    const node = new Node();
    const client = node.attach();
    node.memory.isScarce = true;
    client.say(acquire(1), acquire(1));
    expect(client.refused).toEqual([
      [1, BUSY],
      [1, BUSY],
    ]);
  });

  test("with a value that is not allowed has its place in the order like any other", () => {
    const node = new Node();
    const client = node.attach();
    client.say(acquire(1));
    client.invalid(OP.acquire, 2);
    client.say(acquire(3));
    expect(client.refused).toEqual([[2, INVALID_ARGUMENT]]);
    client.say(acquire(2));
    expect(node.forward()).toEqual([1, 2]);
    client.invalid(OP.acquire, 5);
    expect(client.closedWith).toBe(1008);
  });

  test("that is below what must come ends the connection, even after a refusal", () => {
    const node = new Node();
    const client = node.attach();
    client.say(acquire(1));
    client.invalid(OP.acquire, 2);
    client.say(acquire(1));
    expect(client.closedWith).toBe(1008);
  });

  test("is forgotten when the connection is attached again", () => {
    const node = new Node();
    const client = node.attach();
    client.invalid(OP.acquire, 1);
    client.attach(open(2));
    client.bind(open(2));
    client.say(acquire(2));
    expect(client.closedWith).toBe(1008);
  });
});

describe("with little room", () => {
  const lacks: [string, number, (node: Node) => void][] = [
    ["bytes that are kept", BUSY, (node) => node.fill(BYTES_MAX)],
    ["memory", BUSY, (node) => Object.assign(node.memory, { isScarce: true })],
    [
      "bytes that are not committed",
      BUSY,
      (node) => Object.assign(node.raft, { role: "leader", uncommittedBytes: BYTES_MAX + 1 }),
    ],
    [
      "disk",
      DISK_FULL,
      (node) => {
        node.raft.role = "leader";
        node.handOver.isDiskFull = true;
      },
    ],
    ["room of the leader", DISK_FULL, (node) => node.capacity.onPressure("diskFull", node.nowMs)],
  ];

  test.each(lacks)(
    "(%s) strong commands and opens are refused, and nothing else",
    (_what, why, lack) => {
      const node = new Node();
      const client = node.attach(1);
      lack(node);
      client.say(acquire(2));
      expect(client.refused).toEqual([[2, why]]);
      client.say(end(2), KEEPALIVE, RECALL);
      expect(node.forward()).toEqual([2, 0, 0]);
      const newcomer = node.connect();
      newcomer.attach(open(5));
      expect(newcomer.connection.sent).toMatchObject([{ attempt: 5, status: why }]);
      const back = node.connect();
      back.attach({ op: OP.resume, session: SESSION, nonce: NONCE, attempt: 2 });
      expect(back.connection.sent).toEqual([]);
      expect(node.forward()).toEqual([0]);
    },
  );

  test("of the leader, as it said once, strong commands are refused for a short while", () => {
    const node = new Node();
    const client = node.attach();
    node.capacity.onPressure("busy", 0);
    node.nowMs = TUNING.electionTimeoutMs - 1;
    client.say(acquire(1));
    expect(client.refused).toEqual([[1, BUSY]]);
    node.nowMs += 1;
    client.say(acquire(1));
    node.capacity.onPressure("busy", node.nowMs);
    node.capacity.onPressure("none", node.nowMs);
    client.say(acquire(2));
    node.capacity.onPressure("busy", node.nowMs);
    node.capacity.restart();
    client.say(acquire(3));
    expect(node.forward()).toEqual([1, 2, 3]);
  });

  test("a leader warns the others again and again, and says when it is over", () => {
    const node = new Node();
    node.raft.role = "leader";
    node.capacity.tell([2, 3], 0);
    expect(node.sent).toEqual([]);
    node.handOver.isDiskFull = true;
    node.capacity.tell([2, 3], 1);
    node.capacity.tell([2, 3], 2);
    expect(node.sent).toEqual([
      { type: "pressure", lack: "diskFull" },
      { type: "pressure", lack: "diskFull" },
    ]);
    node.capacity.tell([2], 1 + TUNING.heartbeatIntervalMs);
    expect(node.sent).toHaveLength(3);
    node.handOver.isDiskFull = false;
    node.capacity.tell([2], 1 + TUNING.heartbeatIntervalMs);
    node.capacity.tell([2], 2 + TUNING.heartbeatIntervalMs);
    expect(node.sent.slice(3)).toEqual([{ type: "pressure", lack: "none" }]);
    // Nothing of that concerns what they forward.
    expect(node.capacity.leaderRefusal).toBeUndefined();
  });
});

describe("with no room", () => {
  const lacks: [string, number, (node: Node) => void][] = [
    ["bytes that are kept", BUSY, (node) => node.fill(2 * BYTES_MAX)],
    [
      "bytes that are not committed",
      BUSY,
      (node) => Object.assign(node.raft, { role: "leader", uncommittedBytes: 2 * BYTES_MAX + 1 }),
    ],
    [
      "reserve of the log",
      DISK_FULL,
      (node) => {
        node.raft.role = "leader";
        node.handOver.isDiskFull = true;
        node.log.freeBytes = TUNING.segmentBytes / 8 - 1;
      },
    ],
  ];

  test.each(lacks)("(%s) weak commands and resumes are refused too", (_what, why, lack) => {
    const node = new Node();
    const client = node.attach();
    lack(node);
    client.say(end(1), KEEPALIVE, RECALL);
    expect(client.refused).toEqual([[1, why]]);
    expect(node.forward()).toEqual([]);
    const back = node.connect();
    back.attach({ op: OP.resume, session: SESSION, nonce: NONCE, attempt: 2 });
    expect(back.connection.sent).toMatchObject([{ attempt: 2, status: why }]);
    expect(back.attachment.awaitedAttach).toBeUndefined();
  });

  test("a leader takes nothing of other nodes, and before that it does", () => {
    const node = new Node();
    node.raft.role = "leader";
    node.raft.uncommittedBytes = 2 * BYTES_MAX;
    expect(node.capacity.leaderRefusal).toBeUndefined();
    node.raft.uncommittedBytes += 1;
    expect(node.capacity.leaderRefusal).toBe("busy");
    node.raft.role = "follower";
    expect(node.capacity.leaderRefusal).toBeUndefined();
  });
});

describe("what was admitted", () => {
  test("is kept until the table has answered it or a later one of its session", () => {
    const node = new Node();
    const client = node.attach();
    client.say(acquire(1), acquire(2), KEEPALIVE, acquire(3), RECALL);
    client.executed(2);
    expect(node.kept.inOrder().map(({ sequence }) => sequence)).toEqual([0, 3, 0]);
    node.attachments.toSession(SESSION, 1, { kind: MESSAGE.renewed, number: 1, stamp: 1 });
    expect(node.kept.inOrder().map(({ sequence }) => sequence)).toEqual([3, 0]);
    // The epoch is another: it is said to somebody else.
    const result = { status: STATUS.ok };
    const reply = { kind: MESSAGE.reply, sequence: 3, stamp: 1, result } as const;
    node.attachments.toSession(SESSION, 2, reply);
    expect(node.kept.inOrder()).toHaveLength(2);
    node.attachments.toSession(SESSION, 1, {
      kind: MESSAGE.recalled,
      number: 2,
      stamp: 1,
      sequences: [],
    });
    client.executed(3);
    expect(node.kept.bytes).toBe(0);
  });

  test("goes again as a whole and in order when the leader had no room, before anything newer", () => {
    const node = new Node();
    const client = node.attach();
    client.say(acquire(1));
    expect(node.forward()).toEqual([1]);
    const refusedId = node.lastId;
    client.say(end(2));
    expect(node.forward()).toEqual([2]);
    node.forwarding.refused(refusedId, "busy", 10);
    client.say(acquire(3));
    node.nowMs = 10 + RETRY_MS - 1;
    node.forwarding.retry(node.nowMs);
    expect(node.forward()).toEqual([]);
    expect(node.forwarding.nextDeadlineMs).toBe(10 + RETRY_MS);
    node.nowMs += 1;
    node.forwarding.retry(node.nowMs);
    expect(node.forward()).toEqual([1, 2, 3]);
    // The client hears nothing of it.
    expect(client.connection.sent.filter(({ kind }) => kind === MESSAGE.refused)).toEqual([]);
  });

  test("goes again in order when leader, term or link changed, and when it seems lost", () => {
    const node = new Node();
    const client = node.attach();
    client.say(acquire(1), acquire(2));
    expect(node.forward()).toEqual([1, 2]);
    client.say(acquire(3));
    node.forwarding.restart(0);
    client.say(acquire(4));
    expect(node.forward()).toEqual([1, 2, 3, 4]);
    client.executed(1);
    // One of it was executed, the last one not.
    node.nowMs = RESEND_MS;
    node.forwarding.retry(node.nowMs);
    expect(node.forward()).toEqual([2, 3, 4]);
    client.executed(4);
    node.nowMs = 2 * RESEND_MS;
    node.forwarding.retry(node.nowMs);
    expect(node.forward()).toEqual([]);
    expect(node.forwarding.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("of a leader of an earlier term may be refused without a consequence", () => {
    const node = new Node();
    const client = node.attach();
    client.say(acquire(1));
    node.forward();
    const { lastId } = node;
    node.forwarding.restart(5);
    node.forwarding.refused(lastId, "busy", 10);
    expect(node.forward()).toEqual([1]);
  });

  test("and could not be proposed stands before what came later", () => {
    const node = new Node();
    const [client, other] = [node.attach(), node.connect()];
    other.attach(open(9));
    client.say(acquire(1), acquire(2));
    const taken = node.line.take(BYTES_MAX, 0);
    client.say(acquire(3));
    node.line.putBack(taken.items, 5);
    expect(node.line.firstArrivalMs).toBe(0);
    expect(node.line.bytes).toBe(node.kept.bytes);
    expect(node.forward().filter((sequence) => sequence > 0)).toEqual([1, 2, 3]);
    node.line.putBack([], 7);
    expect(node.line.isEmpty).toBe(true);
  });

  test("does not go again when its connection closed or was attached again", () => {
    const node = new Node();
    const client = node.attach();
    client.say(acquire(1), acquire(2));
    client.attach(open(2));
    client.bind(open(2), 1);
    node.forwarding.restart(0);
    expect(node.forward()).toEqual([]);
    client.say(acquire(2));
    expect(node.forward()).toEqual([2]);
    node.attachments.remove(client.attachment);
    expect(node.kept.bytes).toBe(0);
    expect(node.kept.inOrder()).toEqual([]);
  });

  test("is no more than itself, however large the frame was that it came in", () => {
    const node = new Node();
    const { attachment } = node.attach();
    const encoded = encodeCommand(end(1));
    const cut = (frameBytes: number): Uint8Array => {
      const frame = new Uint8Array(frameBytes);
      frame.set(encoded, 10);
      return frame.subarray(10, 10 + encoded.length);
    };
    const fromLarge = node.kept.keep(attachment, end(1), cut(1 << 20));
    expect(fromLarge.bytes).toEqual(encoded);
    expect(fromLarge.bytes.buffer.byteLength).toBe(encoded.length);
    // Commands of a usual frame share it: nothing is copied for them.
    const usual = cut(8_192);
    expect(node.kept.keep(attachment, end(2), usual).bytes).toBe(usual);
  });

  test("leaves no trace in the line when clients come and go while nobody leads", () => {
    const node = new Node();
    for (let visit = 1; visit <= 20_000; visit += 1) {
      const client = node.connect();
      client.attach(open(visit));
      node.attachments.remove(client.attachment);
    }
    expect(node.kept.bytes).toBe(0);
    expect(node.line.bytes).toBeLessThan(1_000_000);
    node.attach();
    expect(node.forward()).toEqual([]);
    expect(node.line.bytes).toBe(0);
  });
});

describe("an attach", () => {
  test("of the same connection replaces the one before", () => {
    const node = new Node();
    const client = node.connect();
    client.attach(open(1));
    client.attach(open(2));
    expect(node.kept.inOrder()).toHaveLength(1);
    client.bind(open(1));
    expect(client.connection.session).toBe(0);
    client.bind(open(2));
    expect(client.connection.session).toBe(SESSION);
    expect(node.kept.bytes).toBe(0);
  });

  test("with a value that is not allowed gets an error, and nothing of it is awaited", () => {
    const node = new Node();
    const client = node.connect();
    client.invalid(OP.open, 3);
    expect(client.connection.sent).toMatchObject([{ attempt: 3, status: INVALID_ARGUMENT }]);
    expect(client.attachment.awaitedAttach).toBeUndefined();
  });
});

describe("an order without a session", () => {
  const revoke = (sequence: number): SequencedCommand => ({
    ...{ op: OP.revoke, sequence, mark: 1, acknowledged: [] },
    ...{ key: "a", token: 0, graceMs: 0, now: true, reason: "" },
  });

  test("needs no order among others, and is kept until it is answered", () => {
    const node = new Node();
    const client = node.connect();
    client.say(revoke(900), revoke(30));
    client.executed(900);
    expect(node.kept.inOrder().map(({ sequence }) => sequence)).toEqual([30]);
    client.executed(30);
    expect(node.kept.bytes).toBe(0);
    expect(client.connection.sent).toMatchObject([{ sequence: 900 }, { sequence: 30 }]);
  });

  test("is refused by the same message, and so is a number that is in use", () => {
    const node = new Node();
    const [client, other] = [node.connect(), node.connect()];
    client.say(revoke(900));
    other.say(revoke(900));
    expect(other.refused).toEqual([[900, BUSY]]);
    client.invalid(OP.revoke, 5);
    expect(client.refused).toEqual([[5, INVALID_ARGUMENT]]);
    node.attachments.remove(client.attachment);
    other.say(revoke(900));
    expect(node.kept.inOrder()).toHaveLength(1);
  });
});
