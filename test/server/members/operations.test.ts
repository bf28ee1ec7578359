/**
 * What happens to operators' requests on one node while leaders change. The test plays the core and
 * the other nodes.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import type { PeerMessage } from "../../../src/net/index.js";
import {
  type LeaderOperation,
  MESSAGE,
  OP,
  STATUS,
  Writer,
  writeRequest,
} from "../../../src/protocol/index.js";
import type { Configuration, Input } from "../../../src/raft/index.js";
import { Attachment } from "../../../src/server/commands/attachments.js";
import { Operations, type OperationsHost } from "../../../src/server/members/operations.js";
import { RecordingConnection } from "../world/recording-connection.js";

const SELF = 1;
const TERM = 5;
const WAIT_MS = 1_000;

function bytesOf(operation: LeaderOperation): Uint8Array {
  const writer = new Writer();
  writeRequest(writer, operation);
  return writer.take();
}

function configurationOf(...voters: number[]): Configuration {
  const addresses = voters.map((id) => ({ id, address: `node-${id}:1` }));
  return { voters, outgoing: [], learners: [], addresses };
}

/** A node with its requests, and whatever it is told to believe of the cluster. */
class Desk implements OperationsHost {
  readonly nodeId = SELF;
  configuration = configurationOf(1, 2, 3);
  appliedConfiguration = this.configuration;
  sureCommitIndex: number | undefined = 1;
  appliedIndex = 1;
  /** Credentials that may do nothing any more. */
  readonly removed = new Set<number>();
  readonly sent: PeerMessage[] = [];
  readonly stepped: Input[] = [];
  readonly operations = new Operations(WAIT_MS, (_peer, message) => this.sent.push(message));

  membersView(): unknown {
    return {};
  }

  judge(credential: number): typeof ERROR_NUMBERS.UNAUTHENTICATED | undefined {
    return this.removed.has(credential) ? ERROR_NUMBERS.UNAUTHENTICATED : undefined;
  }

  step(input: Input): void {
    this.stepped.push(input);
  }

  /** The number under which the core was asked last. */
  get lastId(): number {
    const input = this.stepped.at(-1);
    return input !== undefined && "id" in input ? input.id : 0;
  }

  ask(asker: Asker, operation: LeaderOperation, nowMs = 0): void {
    this.operations.add(asker.attachment, operation, bytesOf(operation), nowMs);
  }
}

class Asker {
  readonly connection = new RecordingConnection(1);
  readonly attachment = new Attachment(this.connection);

  /** Number and status of every answer so far. */
  get answers(): (readonly [number, number])[] {
    return this.connection.sent.flatMap((message) =>
      message.kind === MESSAGE.answer ? [[message.id, message.status] as const] : [],
    );
  }
}

const removal = (id: number, node: number): LeaderOperation => {
  return { op: OP.changeMember, id, action: "remove", node, address: undefined };
};

describe("the wish for a certain leader", () => {
  test("is not fulfilled by any other, who is asked in turn", () => {
    const desk = new Desk();
    const asker = new Asker();
    desk.ask(asker, { op: OP.transfer, id: 9, node: 3 });
    desk.operations.begin(desk);
    // Node 2 was faster.
    desk.operations.onTransferEnded(desk.lastId, true);
    desk.operations.restart(2, SELF);
    expect(asker.answers).toEqual([]);
    desk.operations.passOn(2, TERM);
    expect(desk.sent).toMatchObject([{ type: "operation", term: TERM }]);
    desk.operations.restart(3, SELF);
    expect(asker.answers).toEqual([[9, STATUS.ok]]);
  });

  test("for whichever is fulfilled by the first that leads", () => {
    const desk = new Desk();
    const asker = new Asker();
    desk.ask(asker, { op: OP.transfer, id: 9, node: 0 });
    desk.operations.begin(desk);
    desk.operations.onTransferEnded(desk.lastId, true);
    desk.operations.restart(0, SELF);
    expect(asker.answers).toEqual([]);
    desk.operations.restart(2, SELF);
    expect(asker.answers).toEqual([[9, STATUS.ok]]);
  });
});

test("an answer that no leader gives reaches the client as text", () => {
  const deep = `${"[".repeat(30_000)}${"]".repeat(30_000)}`;
  for (const text of [deep, "no JSON"]) {
    const desk = new Desk();
    const asker = new Asker();
    desk.ask(asker, { op: OP.members, id: 9 });
    desk.operations.passOn(2, TERM);
    const [passedOn] = desk.sent;
    const id = passedOn?.type === "operation" ? passedOn.id : 0;
    desk.operations.onReply({ type: "operationReply", id, status: STATUS.ok, text });
    const payload = { message: text };
    expect(asker.connection.sent).toMatchObject([{ kind: MESSAGE.answer, id: 9, payload }]);
  }
});

test("a change is answered when it is committed, and not when the leader begins with it", () => {
  const desk = new Desk();
  const asker = new Asker();
  desk.ask(asker, removal(4, 3));
  desk.operations.begin(desk);
  expect(desk.operations.onAccepted(desk.lastId)).toBe(true);
  desk.operations.onApplied(desk);
  // In the leader's log, and so in force there: a leader that is lost now may take it with it.
  desk.configuration = configurationOf(1, 2);
  desk.operations.onApplied(desk);
  desk.ask(asker, removal(5, 3));
  desk.operations.begin(desk);
  expect(asker.answers).toEqual([]);
  desk.appliedConfiguration = desk.configuration;
  desk.operations.onApplied(desk);
  expect(asker.answers).toEqual([
    [4, STATUS.ok],
    [5, STATUS.ok],
  ]);
});

describe("a change that cannot begin just now", () => {
  test("is fulfilled without being begun when the one under way was the same", () => {
    const desk = new Desk();
    const asker = new Asker();
    desk.ask(asker, removal(4, 3));
    desk.operations.begin(desk);
    expect(desk.operations.onRefused(desk.lastId, "notReady", 0)).toBe(true);
    expect([asker.answers, desk.operations.hasWaiting]).toEqual([[], false]);
    const againAtMs = desk.operations.nextDeadlineMs;
    expect(againAtMs).toBeLessThanOrEqual(WAIT_MS / 10);
    desk.operations.expire(againAtMs);
    desk.configuration = configurationOf(1, 2);
    desk.appliedConfiguration = desk.configuration;
    desk.operations.begin(desk);
    expect([asker.answers, desk.stepped.length]).toEqual([[[4, STATUS.ok]], 1]);
  });

  test("gets an error when it stays like that", () => {
    const desk = new Desk();
    const asker = new Asker();
    desk.ask(asker, removal(4, 3));
    for (let nowMs = 0; asker.answers.length === 0; nowMs = desk.operations.nextDeadlineMs) {
      expect(nowMs).toBeLessThanOrEqual(WAIT_MS / 5);
      desk.operations.expire(nowMs);
      desk.operations.begin(desk);
      desk.operations.onRefused(desk.lastId, "notReady", nowMs);
    }
    expect(asker.answers).toEqual([[4, ERROR_NUMBERS.BUSY]]);
  });

  test("goes to another leader with the rest", () => {
    const desk = new Desk();
    const asker = new Asker();
    desk.ask(asker, removal(4, 3));
    desk.operations.begin(desk);
    desk.operations.onRefused(desk.lastId, "notReady", 0);
    desk.operations.restart(2, SELF);
    desk.operations.passOn(2, TERM);
    expect(desk.sent).toMatchObject([{ type: "operation", term: TERM }]);
  });
});

describe("requests that flood a node", () => {
  test("of one client leave room for other clients'", () => {
    const desk = new Desk();
    const flooding = new Asker();
    for (let id = 1; id <= 1_000; id += 1) desk.ask(flooding, removal(id, 3));
    const refused = flooding.answers.filter(([, status]) => status === ERROR_NUMBERS.BUSY);
    expect([flooding.answers.length, refused.length]).toEqual([984, 984]);
    const asker = new Asker();
    desk.ask(asker, { op: OP.members, id: 1 });
    desk.operations.begin(desk);
    expect(asker.answers).toEqual([[1, STATUS.ok]]);
  });

  test("from many clients are refused beyond a limit, and none is without an answer", () => {
    const desk = new Desk();
    const askers = Array.from({ length: 100 }, () => new Asker());
    for (const asker of askers) desk.ask(asker, removal(1, 3));
    expect(askers.filter((asker) => asker.answers.length === 1)).toHaveLength(100 - 48);
    desk.operations.expire(WAIT_MS);
    for (const { answers } of askers) expect(answers).toHaveLength(1);
    expect(desk.operations.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("by one credential leave room for others, even for others that the same node passes on", () => {
    const desk = new Desk();
    const passOn = (id: number, credential: number): void => {
      const message = { type: "operation", id, term: TERM, credential } as const;
      desk.operations.addRemote(2, { ...message, request: bytesOf(removal(4, 3)) }, true, 0);
    };
    for (let id = 1; id <= 100; id += 1) passOn(id, 5);
    for (let at = 0; at < 100; at += 1) {
      const asker = new Asker();
      asker.attachment.credential = 5;
      desk.ask(asker, removal(1, 3));
    }
    expect(desk.sent).toHaveLength(100 - 16);
    passOn(101, 6);
    expect(desk.sent).toHaveLength(100 - 16);
    const asker = new Asker();
    desk.ask(asker, { op: OP.members, id: 1 });
    desk.operations.begin(desk);
    expect(asker.answers).toEqual([[1, STATUS.ok]]);
  });
});

describe("a request is judged by the leader", () => {
  const ADMIN = 7;
  const askedByAdmin = (desk: Desk): Asker => {
    const asker = new Asker();
    asker.attachment.credential = ADMIN;
    desk.ask(asker, removal(4, 3));
    return asker;
  };

  test("and passed on to it with the credential by which it came", () => {
    const desk = new Desk();
    desk.removed.add(ADMIN);
    const asker = askedByAdmin(desk);
    desk.operations.passOn(2, TERM);
    expect(desk.sent).toMatchObject([{ type: "operation", credential: ADMIN }]);
    expect(asker.answers).toEqual([]);
  });

  test("that refuses it for another node too", () => {
    const desk = new Desk();
    desk.removed.add(ADMIN);
    const request = bytesOf(removal(4, 3));
    const message = { type: "operation", id: 9, term: TERM, credential: ADMIN, request } as const;
    desk.operations.addRemote(2, message, true, 0);
    desk.operations.begin(desk);
    const status = ERROR_NUMBERS.UNAUTHENTICATED;
    expect(desk.sent).toMatchObject([{ type: "operationReply", id: 9, status }]);
    expect(desk.stepped).toEqual([]);
  });

  test("only when it leads for certain and has applied what was committed", () => {
    const desk = new Desk();
    desk.sureCommitIndex = undefined;
    const asker = askedByAdmin(desk);
    desk.operations.begin(desk);
    expect([desk.operations.canBegin(desk), desk.stepped]).toEqual([false, []]);
    desk.sureCommitIndex = 5;
    desk.operations.begin(desk);
    expect([desk.operations.canBegin(desk), desk.stepped]).toEqual([false, []]);
    // Entry 5 removes the credential; what is committed later does not delay the answer.
    desk.removed.add(ADMIN);
    desk.sureCommitIndex = 9;
    desk.appliedIndex = 5;
    expect(desk.operations.canBegin(desk)).toBe(true);
    desk.operations.begin(desk);
    expect([asker.answers, desk.stepped]).toEqual([[[4, ERROR_NUMBERS.UNAUTHENTICATED]], []]);
  });

  test("again when another one leads, and when it is begun once more", () => {
    const desk = new Desk();
    const asker = askedByAdmin(desk);
    desk.operations.begin(desk);
    desk.operations.onRefused(desk.lastId, "notReady", 0);
    desk.removed.add(ADMIN);
    desk.operations.expire(desk.operations.nextDeadlineMs);
    desk.operations.begin(desk);
    expect(asker.answers).toEqual([[4, ERROR_NUMBERS.UNAUTHENTICATED]]);
  });
});
