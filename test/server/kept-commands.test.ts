import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS, type ErrorNumber } from "../../src/errors.js";
import type { PeerMessage } from "../../src/net/index.js";
import { type Command, encodeCommand, MESSAGE, OP } from "../../src/protocol/index.js";
import { Attachments } from "../../src/server/attachments.js";
import { Forwarding } from "../../src/server/forwarding.js";
import type { KeptCommand } from "../../src/server/kept-command.js";
import { KEPT_PER_CONNECTION_MAX, KeptCommands } from "../../src/server/kept-commands.js";
import { WaitingLine } from "../../src/server/waiting-line.js";
import { RecordingConnection } from "./recording-connection.js";

const BYTES_MAX = 1_000;
const RETRY_MS = 100;
const RESEND_MS = 3_000;

function release(sequence: number): Command {
  return { op: OP.release, sequence, mark: 1, acknowledged: [], token: 1 };
}

class Node {
  readonly connection = new RecordingConnection(1);
  readonly attachments = new Attachments((attachment) => this.kept.drop(attachment));
  readonly kept: KeptCommands = new KeptCommands(BYTES_MAX, this.attachments);
  readonly line = new WaitingLine();
  readonly attachment = this.attachments.add(this.connection);
  readonly forwarded: (PeerMessage & { readonly type: "forward" })[] = [];
  readonly forwarding = new Forwarding(this.kept, this.line, {
    batchBytesMax: BYTES_MAX,
    retryAfterMs: RETRY_MS,
    resendAfterMs: RESEND_MS,
  });

  admit(command: Command, turn = 1, refusal?: ErrorNumber): KeptCommand | undefined {
    const bytes = encodeCommand(command);
    const kept = this.kept.admit(this.attachment, command, bytes, turn, refusal);
    if (kept !== undefined) this.line.push(kept, 0);
    return kept;
  }

  forward(nowMs: number): number {
    this.forwarding.forward(1, nowMs, (message) => {
      if (message.type === "forward") this.forwarded.push(message);
    });
    return this.forwarded.at(-1)?.id ?? 0;
  }

  get busy(): number[] {
    const sequences: number[] = [];
    for (const message of this.connection.sent) {
      if (message.kind !== MESSAGE.reply) continue;
      expect(message.result.status).toBe(ERROR_NUMBERS.BUSY);
      // Nothing was executed, so no client may take the answer for a renewed lease.
      expect(message.stamp).toBe(0);
      sequences.push(message.sequence);
    }
    return sequences;
  }
}

describe("a refusal for want of room", () => {
  test("is passed on for what was sent exactly once", () => {
    const node = new Node();
    node.admit(release(1));
    node.admit(release(2));
    node.forwarding.refused(node.forward(0), "busy", 10);
    expect(node.busy).toEqual([1, 2]);
    expect(node.kept.bytes).toBe(0);
    expect(node.kept.refusedCount).toBe(2);
  });

  test("makes what was sent twice go again after a while, without a word to the client", () => {
    const node = new Node();
    node.admit(release(1));
    node.forward(0);
    node.forwarding.restart(5);
    node.admit(release(2));
    node.forwarding.refused(node.forward(5), "busy", 10);
    expect(node.busy).toEqual([2]);
    expect(node.forwarding.nextDeadlineMs).toBe(10 + RETRY_MS);
    node.forwarding.retry(10 + RETRY_MS - 1);
    expect(node.line.isEmpty).toBe(true);
    node.forwarding.retry(10 + RETRY_MS);
    node.forward(200);
    expect(node.forwarded).toHaveLength(3);
  });

  test("of a batch of an earlier leader means nothing any more", () => {
    const node = new Node();
    node.admit(release(1));
    const id = node.forward(0);
    node.forwarding.restart(5);
    node.forwarding.refused(id, "busy", 10);
    expect(node.busy).toEqual([]);
    expect(node.line.isEmpty).toBe(false);
  });

  test("at the door takes the rest of the turn with it, so that order is kept", () => {
    const node = new Node();
    expect(node.admit(release(1), 1, ERROR_NUMBERS.BUSY)).toBeUndefined();
    expect(node.admit(release(2), 1)).toBeUndefined();
    expect(node.admit(release(3), 2)).toBeDefined();
    expect(node.busy).toEqual([1, 2]);
  });

  test("comes from this node too when its clients have too much without an answer", () => {
    const node = new Node();
    let sequence = 0;
    while (node.busy.length === 0) {
      sequence += 1;
      node.admit(release(sequence), sequence);
    }
    expect(node.kept.bytes).toBeLessThanOrEqual(BYTES_MAX);
    expect(node.busy).toEqual([sequence]);
  });

  test("never meets a retry: of a client with too many of them some are done, and no more taken", () => {
    const node = new Node();
    node.attachment.highestSequence = 1_000;
    let sequence = 1;
    while (node.admit(release(sequence), sequence) !== undefined) sequence += 1;
    expect(sequence).toBeGreaterThan(2);
    expect(node.kept.bytes).toBeLessThanOrEqual(2 * BYTES_MAX);
    expect(node.busy).toEqual([]);
    expect(node.connection.closedWith).toBeUndefined();
    // In the order in which they were sent, or not at all.
    for (const kept of node.kept.inOrder()) node.kept.settle(kept);
    expect(node.admit(release(sequence + 1), sequence + 1)).toBeUndefined();
    expect(node.kept.bytes).toBe(0);
  });

  test("never meets a retry: where others fill the node its client is sent away", () => {
    const node = new Node();
    node.attachment.highestSequence = 1_000;
    for (let sequence = 1; node.admit(release(sequence), sequence) !== undefined; ) sequence += 1;
    const connection = new RecordingConnection(2);
    const other = node.attachments.add(connection);
    other.highestSequence = 1_000;
    const command = release(1);
    const bytes = encodeCommand(command);
    expect(node.kept.admit(other, command, bytes, 1, undefined)).toBeUndefined();
    expect(connection.closedWith?.code).toBe(1013);
    expect(other.isClosed).toBe(true);
  });

  test("comes early to one connection that floods the node, and to no other", () => {
    const attachments = new Attachments((attachment) => kept.drop(attachment));
    const kept: KeptCommands = new KeptCommands(32 << 20, attachments);
    const flooding = attachments.add(new RecordingConnection(1));
    const other = attachments.add(new RecordingConnection(2));
    const command = release(1);
    const bytes = encodeCommand(command);
    for (let turn = 1; turn <= 10_000; turn += 1)
      kept.admit(flooding, command, bytes, turn, undefined);
    expect(kept.refusedCount).toBe(10_000 - KEPT_PER_CONNECTION_MAX);
    expect(kept.admit(other, command, bytes, 10_000, undefined)).toBeDefined();
    flooding.highestSequence = 1;
    for (let turn = 1; turn <= 10_000; turn += 1)
      kept.admit(flooding, command, bytes, turn, undefined);
    expect(flooding.isClosed).toBe(true);
    expect(other.isClosed).toBe(false);
  });

  test("tells an attach so in the attach's own words, and keeps a recall", () => {
    const node = new Node();
    const nonce = "0".repeat(32);
    const open: Command = { op: OP.open, nonce, attempt: 1, ttlMs: 2_000, name: "", metadata: "" };
    node.attachments.await(node.attachment, open as Command & { op: typeof OP.open });
    expect(node.admit(open, 1, ERROR_NUMBERS.BUSY)).toBeUndefined();
    const none = { number: 1, mark: 1, acknowledged: [], sequences: [], tokens: [] };
    expect(node.admit({ op: OP.recall, ...none }, 2, ERROR_NUMBERS.BUSY)).toBeDefined();
    const [told] = node.connection.sent;
    expect(told).toMatchObject({ kind: MESSAGE.attached, attempt: 1, status: ERROR_NUMBERS.BUSY });
  });
});

describe("what is kept", () => {
  test("goes again, all of it and in order, when it stays unapplied for long", () => {
    const node = new Node();
    for (const sequence of [1, 2, 3]) node.admit(release(sequence));
    node.forward(0);
    node.admit(release(4));
    node.forward(1_000);
    expect(node.forwarding.nextDeadlineMs).toBe(RESEND_MS);
    node.forwarding.retry(RESEND_MS);
    node.forward(RESEND_MS);
    const bytes = node.forwarded.map(({ records }) => records.length);
    expect(bytes[2]).toBe((bytes[0] ?? 0) + (bytes[1] ?? 0));
  });

  test("does not go again once it was applied or its client went away", () => {
    const node = new Node();
    const first = node.admit(release(1));
    node.admit(release(2));
    node.forward(0);
    if (first !== undefined) node.kept.settle(first);
    expect(node.kept.inOrder().map(({ command }) => command)).toEqual([release(2)]);
    node.attachments.remove(node.attachment);
    expect(node.kept.inOrder()).toEqual([]);
    expect(node.kept.bytes).toBe(0);
    node.forwarding.restart(1);
    expect(node.line.isEmpty).toBe(true);
    expect(node.forwarding.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("is no more than itself, however large the frame was that it came in", () => {
    const node = new Node();
    const command = release(1);
    const encoded = encodeCommand(command);
    const cut = (frameBytes: number): Uint8Array => {
      const frame = new Uint8Array(frameBytes);
      frame.set(encoded, 10);
      return frame.subarray(10, 10 + encoded.length);
    };
    const fromLarge = node.kept.admit(node.attachment, command, cut(1 << 20), 1, undefined);
    expect(fromLarge?.bytes).toEqual(encoded);
    expect(fromLarge?.bytes.buffer.byteLength).toBe(encoded.length);
    // Commands of a usual frame share it: nothing is copied for them.
    const usual = cut(8_192);
    expect(node.kept.admit(node.attachment, command, usual, 2, undefined)?.bytes).toBe(usual);
  });

  test("leaves no trace in the line when clients come and go while nobody leads", () => {
    const node = new Node();
    for (let visit = 1; visit <= 20_000; visit += 1) {
      const attachment = node.attachments.add(new RecordingConnection(1 + visit));
      const command = release(1);
      const kept = node.kept.admit(attachment, command, encodeCommand(command), visit, undefined);
      if (kept !== undefined) node.line.push(kept, 0);
      node.attachments.remove(attachment);
    }
    node.admit(release(7), 20_001);
    expect(node.kept.bytes).toBeLessThan(100);
    expect(node.line.bytes).toBeLessThan(100_000);
    node.forward(0);
    expect(node.forwarded).toHaveLength(1);
    expect(node.line.bytes).toBe(0);
  });
});
