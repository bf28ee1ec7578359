/**
 * Reads what layouts describe. A source says how strictly: the reader of a client passes over what a
 * newer node added (`net/framing`), the one of a snapshot refuses everything beyond its bounds.
 */
import type { ErrorNumber } from "../../errors/index.js";
import type { ClaimMode } from "../commands.js";
import type { BlockedBy, EndReason, RecallState, STATUS } from "../replies.js";
import type { TextRule } from "../text-rules.js";
import type { Layout, MessagePositions, Positions } from "./positions.js";

/** What results are read from. */
export interface ResultSource {
  fail(what: string): never;
  uint(): number;
  bool(): boolean;
  string(): string;
  within(least: number, most: number, name: string): number;
  textUnder(rule: TextRule): string;
  token(): number;
  tokenOrNone(): number;
  mode(): ClaimMode;
  endReason(): EndReason;
  blockedBy(): BlockedBy;
  /** A status; anything below `FIRST_ERROR` that is not in `STATUS` is refused. */
  status(): number;
  arrayHeader(): number;
  /** The header of a list of at most `countMax`. */
  listHeader(countMax: number): number;
  /** What to do with `count` positions that are not known. */
  passOver(count: number): void;
}

/** What messages are read from. */
export interface MessageSource extends ResultSource {
  okOrError(): typeof STATUS.ok | ErrorNumber;
  error(): ErrorNumber;
  recallState(): RecallState;
  payload(): unknown;
}

/** Stands for a value that is not read yet: layouts find no fields in it. */
const UNREAD = Object.freeze({}) as never;

export class PositionReader<S extends ResultSource> implements Positions {
  readonly source: S;
  /** Positions left in the array being read. */
  #left = 0;

  constructor(source: S) {
    this.source = source;
  }

  /** Reads an array that stands alone. */
  read<T>(layout: Layout<T, this>): T {
    const { source } = this;
    const left = this.#left;
    this.#left = source.arrayHeader();
    const value = layout(this, UNREAD);
    if (this.#left > 0) source.passOver(this.#left);
    this.#left = left;
    return value;
  }

  number(): number {
    return this.next.uint();
  }

  within(_value: number, least: number, most: number, name: string): number {
    return this.next.within(least, most, name);
  }

  boolean(): boolean {
    return this.next.bool();
  }

  text(): string {
    return this.next.string();
  }

  textUnder(_value: string, rule: TextRule): string {
    return this.next.textUnder(rule);
  }

  token(): number {
    return this.next.token();
  }

  tokenOrNone(): number {
    return this.next.tokenOrNone();
  }

  mode(): ClaimMode {
    return this.next.mode();
  }

  endReason(): EndReason {
    return this.next.endReason();
  }

  blockedBy(): BlockedBy {
    return this.next.blockedBy();
  }

  status(): number {
    return this.next.status();
  }

  part<T>(_value: T, layout: Layout<T, this>): T {
    return layout(this, UNREAD);
  }

  array<T>(_value: T, layout: Layout<T, this>): T {
    this.#take();
    return this.read(layout);
  }

  list<T>(_values: readonly T[], countMax: number, layout: Layout<T, this>): readonly T[] {
    const count = this.next.listHeader(countMax);
    const left = this.#left;
    this.#left = count;
    const values: T[] = [];
    while (values.length < count) values.push(layout(this, UNREAD));
    this.#left = left;
    return values;
  }

  arrays<T>(_values: readonly T[], countMax: number, layout: Layout<T, this>): readonly T[] {
    const count = this.next.listHeader(countMax);
    const values: T[] = [];
    while (values.length < count) values.push(this.read(layout));
    return values;
  }

  has<T>(count: number, _value: T | undefined): _value is T {
    return this.#left >= count;
  }

  /** The source, at the next position. */
  protected get next(): S {
    this.#take();
    return this.source;
  }

  #take(): void {
    if (this.#left === 0) this.source.fail("an array with too few values");
    this.#left -= 1;
  }
}

/** Reads messages. */
export class MessagePositionReader
  extends PositionReader<MessageSource>
  implements MessagePositions
{
  kind(): number {
    return this.next.uint();
  }

  okOrError(): typeof STATUS.ok | ErrorNumber {
    return this.next.okOrError();
  }

  error(): ErrorNumber {
    return this.next.error();
  }

  recallState(): RecallState {
    return this.next.recallState();
  }

  payload(): unknown {
    return this.next.payload();
  }
}
