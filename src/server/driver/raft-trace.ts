/**
 * The core with a trace of what it does: one line of JSON for every message in or out and for every
 * transition of term, vote, role, commit index or configuration, in the order in which they
 * happened, so that a specification can check a run from outside. The format is described in
 * `docs/internals/trace.md`. It does not change any decision of the core.
 */
import {
  type Boot,
  type Configuration,
  type Effects,
  type Input,
  type Message,
  Raft,
  type RaftConfig,
  type Random,
} from "../../raft/index.js";

/** Receives one line, without a line break. */
export type TraceLine = (line: string) => void;

interface Seen {
  readonly role: string;
  readonly term: number;
  readonly vote: number;
  readonly leader: number;
  readonly commitIndex: number;
  readonly lastIndex: number;
  readonly firstIndex: number;
  readonly configuration: Configuration;
}

export class TracedRaft extends Raft {
  readonly #line: TraceLine;
  #seen: Seen;
  #number = 0;
  #nowMs = 0;

  constructor(config: RaftConfig, boot: Boot, random: Random, line: TraceLine) {
    super(config, boot, random);
    this.#line = line;
    this.#seen = this.#look();
    this.#write("boot", { ...this.#seen });
  }

  override step(input: Input): void {
    if (input.type === "tick") this.#nowMs = input.nowMs;
    else this.#write(...describeInput(input));
    super.step(input);
    this.#compare();
  }

  override take(): Effects {
    const effects = super.take();
    this.#compare();
    for (const message of effects.sendNow) this.#write("send", describe(message));
    const { write } = effects;
    if (write !== undefined) {
      const { seq, hardState, truncateFrom, snapshot, entries } = write;
      const from = entries[0]?.index;
      this.#write("write", { seq, hardState, truncateFrom, snapshot, from, count: entries.length });
    }
    for (const { seq, message } of effects.sendAfter) {
      this.#write("sendAfter", { seq, ...describe(message) });
    }
    for (const read of effects.reads) this.#write("read", { ...read });
    if (effects.restore !== undefined) {
      const { index, term } = effects.restore;
      this.#write("restore", { index, term });
    }
    return effects;
  }

  /** Writes everything that changed since the last call as one line. */
  #compare(): void {
    const before = this.#seen;
    const now = this.#look();
    const changes: Record<string, unknown> = {};
    for (const name of Object.keys(now) as (keyof Seen)[]) {
      if (now[name] !== before[name]) changes[name] = now[name];
    }
    if (Object.keys(changes).length === 0) return;
    this.#seen = now;
    this.#write("state", changes);
  }

  #look(): Seen {
    const { role, term, vote, leader, commitIndex, lastIndex, firstIndex, configuration } = this;
    return { role, term, vote, leader, commitIndex, lastIndex, firstIndex, configuration };
  }

  #write(event: string, fields: Record<string, unknown>): void {
    this.#number += 1;
    const head = { n: this.#number, ms: this.#nowMs, node: this.id, event };
    this.#line(JSON.stringify({ ...head, ...fields }));
  }
}

function describeInput(input: Input): [string, Record<string, unknown>] {
  switch (input.type) {
    case "message":
      return ["receive", describe(input.message)];
    case "propose":
      return ["propose", { id: input.id, bytes: input.data.length }];
    default: {
      const { type, ...fields } = input;
      return [type, fields];
    }
  }
}

/** Entries appear by index, term and kind, without their contents. */
function describe(message: Message): Record<string, unknown> {
  const { type, ...fields } = message;
  if (message.type !== "append") return { message: type, ...fields };
  const entries = message.entries.map(({ index, term, kind }) => [index, term, kind]);
  return { message: type, ...fields, entries };
}
