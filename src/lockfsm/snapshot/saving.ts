/**
 * Copy on write, for the snapshot that is under way: who is about to change or remove a record says
 * so here first, and the record goes into the snapshot as it is, unless it is there already. Records
 * carry the number of the last snapshot that has nothing more to ask of them; new ones are made with
 * the current number. Never forget to call it: a test compares every snapshot with the hash of its
 * moment. Between snapshots a call is one comparison.
 */
import { assert } from "../../assert.js";
import type { Closing } from "../records/closing.js";
import type { Hold } from "../records/hold.js";
import type { HoldRows } from "../records/hold-rows.js";
import type { Slot } from "../records/reply-window.js";
import type { Request } from "../records/request.js";
import type { Semaphore } from "../records/semaphore.js";
import type { Session } from "../records/session.js";
import type { SnapshotWriter } from "./writer.js";

export class Saving {
  readonly #rows: HoldRows;
  /** The number of the snapshot that was begun last. */
  epoch = 0;
  #writer: SnapshotWriter | undefined = undefined;
  /** The claims to be walked to next: they move on when one of them goes. */
  nextHold = 0;
  nextRequest: Request | undefined = undefined;
  /** Sessions that ended before the walk came to them. */
  #ending: Session[] = [];

  constructor(rows: HoldRows) {
    this.#rows = rows;
  }

  begin(writer: SnapshotWriter): void {
    assert(this.#writer === undefined, () => `snapshot ${this.epoch} is under way`);
    this.#writer = writer;
    this.epoch += 1;
  }

  /** The snapshot that `writer` writes is complete or given up. */
  end(writer: SnapshotWriter): void {
    if (this.#writer !== writer) return;
    this.#writer = undefined;
    this.nextHold = 0;
    this.nextRequest = undefined;
    this.#ending = [];
  }

  /** Before anything of its own changes; not for its claims and stored replies. */
  keepSession(session: Session): void {
    const writer = this.#writer;
    if (writer === undefined || session.savedIn === this.epoch || session.id === 0) return;
    session.savedIn = this.epoch;
    writer.session(session);
  }

  /** Before it ends: it will not be found in the table any more, but what it has is to be saved. */
  keepEnding(session: Session): void {
    if (this.#writer === undefined) return;
    this.keepSession(session);
    if (session.walkedIn !== this.epoch) this.#ending.push(session);
  }

  takeEnding(): Session | undefined {
    return this.#ending.pop();
  }

  /** Before the slot changes, or is forgotten. */
  keepSlot(session: Session, slot: Slot): void {
    const writer = this.#writer;
    if (writer === undefined || slot.savedIn === this.epoch) return;
    slot.savedIn = this.epoch;
    // That of a waiting acquire is saved with its request.
    if (slot.state === "waiting" || slot.state === "gone") return;
    this.keepSession(session);
    writer.slot(session, slot);
  }

  /** Before it changes, moves to another session, or is removed. */
  keepHold({ row }: Hold): void {
    this.keepRow(row);
  }

  /** The same of a hold as its row, a lone one perhaps. */
  keepRow(row: number): void {
    const writer = this.#writer;
    if (writer === undefined) return;
    const rows = this.#rows;
    if (this.nextHold === row) this.nextHold = rows.nextOf(row);
    if (rows.savedIn(row) === this.epoch) return;
    rows.setSavedIn(row, this.epoch);
    this.keepSession(rows.sessionOf(row));
    const content = rows.contentOf(row);
    if (typeof content === "string") writer.loneHold(rows, row, content);
    else writer.hold(content);
  }

  /** Before it changes or is removed; not for being reached, which the rest says. */
  keepRequest(request: Request): void {
    const writer = this.#writer;
    if (writer === undefined) return;
    if (this.nextRequest === request) this.nextRequest = request.next;
    if (request.savedIn === this.epoch) return;
    request.savedIn = this.epoch;
    this.keepSession(request.session);
    writer.request(request);
  }

  /** Before it changes or is removed. */
  keepClosing(closing: Closing): void {
    if (this.#writer === undefined || closing.savedIn === this.epoch) return;
    closing.savedIn = this.epoch;
    this.#writer.closing(closing);
  }

  /** Before its limit changes or its key is forgotten; not for what is held of it. */
  keepSemaphore(semaphore: Semaphore): void {
    if (this.#writer === undefined || semaphore.savedIn === this.epoch) return;
    semaphore.savedIn = this.epoch;
    this.#writer.semaphore(semaphore);
  }
}
