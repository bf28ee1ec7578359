/** The checks of what a client hears and reports complain when something is lost, and only then. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import {
  type Attached,
  MESSAGE,
  OP,
  RECALL_STATE,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../src/protocol/index.js";
import { canonicalTextOf } from "./checks/canonical-text.js";
import { SpokenWords } from "./checks/hearing/spoken-words.js";
import { ReadWords } from "./clients/sdk/read-words.js";

const SESSION = 7;
const EPOCH = 2;

function attachedBy(index: number): Attached {
  const answer = { status: STATUS.ok, session: SESSION, epoch: EPOCH, attempt: 1 };
  const rest = { highestSequence: 3, stamp: 1_000, ttlMs: 2_000, key: "resume" };
  return { kind: MESSAGE.attached, ...answer, ...rest, index };
}

function timeoutOf(sequence: number): SessionMessage {
  const result = { status: ERROR_NUMBERS.LOCK_TIMEOUT } as const;
  return { kind: MESSAGE.outcome, sequence, stamp: 1_500, result };
}

describe("nothing is left out", () => {
  const say = (words: SpokenWords, message: SessionMessage): void => {
    words.say(SESSION, EPOCH, canonicalTextOf(message));
  };

  test("from a connection, counted from the entry that attached it", () => {
    const words = new SpokenWords();
    words.sayAttached(attachedBy(10));
    say(words, timeoutOf(1));
    say(words, timeoutOf(2));
    words.hearAttached(attachedBy(10));
    expect(words.hear(SESSION, EPOCH, timeoutOf(1))).toBeUndefined();
    expect(words.hear(SESSION, EPOCH, timeoutOf(2))).toBeUndefined();
  });

  // A resume was in the log three times under one attempt, and the client heard of the last.
  test("what was said between copies of an attempt was said to nobody who hears the last", () => {
    const words = new SpokenWords();
    for (const [index, sequence] of [
      [10, 1],
      [12, 2],
    ] as const) {
      words.sayAttached(attachedBy(index));
      say(words, timeoutOf(sequence));
    }
    words.sayAttached(attachedBy(14));
    say(words, timeoutOf(3));
    words.hearAttached(attachedBy(14));
    expect(words.hear(SESSION, EPOCH, timeoutOf(3))).toBeUndefined();
  });

  test("a client that hears a later copy on another connection hears everything after it", () => {
    const words = new SpokenWords();
    words.sayAttached(attachedBy(10));
    say(words, timeoutOf(1));
    words.hearAttached(attachedBy(10));
    expect(words.hear(SESSION, EPOCH, timeoutOf(1))).toBeUndefined();
    say(words, timeoutOf(2));
    words.sayAttached(attachedBy(12));
    say(words, timeoutOf(3));
    say(words, timeoutOf(4));
    words.hearAttached(attachedBy(12));
    expect(words.hear(SESSION, EPOCH, timeoutOf(4))).toContain("instead of");
  });

  test("a gap is found, and what was not said", () => {
    const words = new SpokenWords();
    words.sayAttached(attachedBy(10));
    say(words, timeoutOf(1));
    say(words, timeoutOf(2));
    words.hearAttached(attachedBy(10));
    expect(words.hear(SESSION, EPOCH, timeoutOf(2))).toContain("instead of");
    expect(words.hear(SESSION, EPOCH, timeoutOf(2))).toBeUndefined();
    expect(words.hear(SESSION, EPOCH, timeoutOf(2))).toContain("instead of nothing");
  });
});

describe("acknowledged is read", () => {
  const acquire = (
    sequence: number,
    mark: number,
    acknowledged: number[] = [],
  ): SequencedCommand => {
    const items = [{ key: "a", mode: "exclusive" as const }];
    return { op: OP.acquire, sequence, mark, acknowledged, task: 1, items, waitMs: 100 };
  };
  const end = (sequence: number, target: number, mark: number): SequencedCommand => {
    return { op: OP.end, sequence, mark, acknowledged: [], target };
  };
  const replyTo = (sequence: number, status: typeof STATUS.queued | typeof STATUS.ok) => {
    return { kind: MESSAGE.reply, sequence, stamp: 1_000, result: { status } } as const;
  };

  function attached(highest: number): ReadWords {
    const words = new ReadWords();
    words.onAttached(highest);
    return words;
  }

  test("what was not heard to have ended cannot be acknowledged", () => {
    const words = attached(0);
    words.onSaid(acquire(1, 1));
    words.onHeard(replyTo(1, STATUS.queued));
    const next = acquire(2, 2, [1]);
    expect(words.onSaid(next)).toBeUndefined();
    expect(words.problemOf(next)).toContain("acknowledges 1");
    words.onHeard(timeoutOf(1));
    expect(words.problemOf(next)).toBeUndefined();
  });

  test("the mark passes nothing unanswered", () => {
    const words = attached(0);
    words.onSaid(acquire(1, 1));
    const next = acquire(2, 2);
    words.onSaid(next);
    expect(words.problemOf(next)).toContain("no answer to 1");
  });

  // The reply `queued` was lost with a connection, and the wait ended before it was recalled.
  test("how a wait ended is its answer, also when its reply was lost", () => {
    const words = attached(0);
    words.onSaid(acquire(1, 1));
    words.onAttached(1);
    words.onHeard(timeoutOf(1));
    const next = acquire(2, 2, [1]);
    words.onSaid(next);
    expect(words.problemOf(next)).toBeUndefined();
  });

  // What it is to end was executed before it and has an answer of its own, if only by recall.
  test("the answer to an end is none to what it ends", () => {
    const words = attached(0);
    words.onSaid(acquire(1, 1));
    words.onSaid(end(2, 1, 1));
    words.onHeard(replyTo(2, STATUS.ok));
    expect(words.problemOf(acquire(3, 3))).toContain("no answer to 1");
    expect(words.problemOf(acquire(3, 1, [1]))).toContain("acknowledges 1");
  });

  test("a number that was taken back is another command's, and has no answer", () => {
    const words = attached(0);
    words.onSaid(acquire(1, 1));
    words.onSaid(end(2, 1, 1));
    words.onAttached(0);
    expect(words.onSaid(end(1, 9, 1))).toBeUndefined();
    expect(words.problemOf(end(2, 9, 2))).toContain("no answer to 1");
    words.onHeard({
      kind: MESSAGE.recalled,
      number: 1,
      stamp: 1_000,
      sequences: [{ sequence: 1, state: RECALL_STATE.unseen }],
    });
    expect(words.problemOf(end(2, 9, 2))).toContain("no answer to 1");
  });
});
