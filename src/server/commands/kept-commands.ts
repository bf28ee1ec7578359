/**
 * The commands that this node admitted and that were not executed yet. A kept command was never
 * refused and never will be: it stays until the table answers it, or until its connection ends.
 * Reading a copy of it back from the log proves nothing, because the table may have ignored it.
 */
import type { Fifo, TableCommand } from "../../lockfsm/index.js";
import type { ClientConnection } from "../../net/index.js";
import {
  type Attached,
  type Command,
  isAttachCommand,
  MESSAGE,
  type Origin,
  RECORD_HEADER_BYTES,
  type SessionMessage,
} from "../../protocol/index.js";
import type { Share, Usage } from "../limits/usage.js";
import type { CommandTimes } from "../vitals/command-times.js";
import type { Lane, LaneItem } from "./lane.js";

/** Commands of a frame up to this size are kept as views of it. */
const SHARED_FRAME_BYTES_MAX = 16 << 10;

/** A connection from which commands come. */
export interface CommandSource {
  readonly connection: ClientConnection;
  /** The number of the credential it speaks by. */
  readonly credential: number;
  /** In order of arrival. Settled commands leave when they come to the front. */
  readonly kept: Fifo<KeptCommand>;
  /** Those that wait to leave this node. */
  readonly lane: Lane<KeptCommand>;
  /** The number of the identity with which it takes turns; `undefined`: it has its own. */
  readonly turnOf: number | undefined;
  readonly share: Share;
}

export interface CommandSources {
  all(): Iterable<CommandSource>;
  forgetOrder(source: CommandSource, number: number): void;
}

/**
 * A command of a client of this node. If this node proposes it itself, the same object goes to the
 * table, so that it is decoded once.
 */
export class KeptCommand implements TableCommand, LaneItem<KeptCommand> {
  readonly attachment: CommandSource;
  /** For which its bytes count. */
  readonly identity: Usage;
  /** An open or resume. */
  readonly attaches: boolean;
  readonly session: number;
  readonly epoch: number;
  readonly command: Command;
  /** As they came from the client; of a command that attaches, followed by its origin. */
  readonly bytes: Uint8Array;
  readonly origin: Origin | undefined;
  /** Rises with arrival at this node; commands that are sent again are sent in this order. */
  readonly order: number;
  /** When it arrived, as `CommandTimes` has it. */
  readonly arrivalUs: number;
  /** Its number in its session, or the number that its client drew for it; 0: it has none. */
  readonly sequence: number;
  /** Nothing more has to be done for it. */
  isSettled = false;
  /** Whether it waits to leave this node, and the command that waits after it in its lane. */
  isInLine = false;
  nextInLane: KeptCommand | undefined = undefined;

  constructor(
    attachment: CommandSource,
    command: Command,
    bytes: Uint8Array,
    order: number,
    arrivalUs: number,
    origin: Origin | undefined,
  ) {
    this.attachment = attachment;
    this.identity = attachment.share.identity;
    this.attaches = isAttachCommand(command);
    this.session = this.attaches ? 0 : attachment.connection.session;
    // A command without a session has the number of its credential in this place (`batch.ts`).
    this.epoch = this.session === 0 ? attachment.credential : attachment.connection.attachEpoch;
    this.command = command;
    this.bytes = bytes;
    this.origin = origin;
    this.order = order;
    this.arrivalUs = arrivalUs;
    this.sequence = "sequence" in command ? command.sequence : 0;
  }

  get weight(): number {
    return 1;
  }

  get recordBytes(): number {
    return RECORD_HEADER_BYTES + this.bytes.length;
  }
}

export class KeptCommands {
  readonly #sources: CommandSources;
  readonly #times: CommandTimes;
  #bytes = 0;
  #lastOrder = 0;

  constructor(sources: CommandSources, times: CommandTimes) {
    this.#sources = sources;
    this.#times = times;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @param origin of a command that attaches, whose bytes end with it */
  keep(source: CommandSource, command: Command, bytes: Uint8Array, origin?: Origin): KeptCommand {
    this.#lastOrder += 1;
    const kept = new KeptCommand(
      source,
      command,
      ownBytes(bytes),
      this.#lastOrder,
      this.#times.arrivalUs,
      origin,
    );
    this.#bytes += kept.recordBytes;
    kept.identity.keptBytes += kept.recordBytes;
    source.kept.push(kept);
    return kept;
  }

  /** The table sent `message` to the client; some messages show that a command was executed. */
  onTold(source: CommandSource, message: SessionMessage | Attached): void {
    switch (message.kind) {
      case MESSAGE.reply:
        if (source.connection.session > 0) this.#settleUpTo(source, message.sequence);
        else this.#answerEach(source, ({ sequence }) => sequence === message.sequence);
        return;
      case MESSAGE.renewed:
      case MESSAGE.recalled:
        this.#answerEach(source, ({ command }) => {
          return "number" in command && command.number === message.number;
        });
        return;
      case MESSAGE.attached:
        this.#answerEach(source, ({ attaches }) => attaches);
        return;
      default:
    }
  }

  /** The commands of that connection can have no effect on it any more. */
  drop(source: CommandSource): void {
    for (let kept = source.kept.shift(); kept !== undefined; kept = source.kept.shift()) {
      if (kept.isSettled) continue;
      this.#settle(kept);
      if (kept.session === 0) this.#sources.forgetOrder(source, kept.sequence);
    }
  }

  /** The client was refused, or asks for another attach than before. */
  settleAttaches(source: CommandSource): void {
    for (let i = 0; i < source.kept.length; i += 1) {
      const kept = source.kept.at(i);
      if (kept?.attaches === true) this.#settle(kept);
    }
    trim(source);
  }

  /** Everything kept, in order of arrival. */
  inOrder(): KeptCommand[] {
    const all: KeptCommand[] = [];
    for (const source of this.#sources.all()) {
      for (let i = 0; i < source.kept.length; i += 1) {
        const kept = source.kept.at(i);
        if (kept !== undefined && !kept.isSettled) all.push(kept);
      }
    }
    return all.sort((a, b) => a.order - b.order);
  }

  /** The table executes the commands of a session in the order of their numbers. */
  #settleUpTo(source: CommandSource, sequence: number): void {
    for (let i = 0; i < source.kept.length; i += 1) {
      const kept = source.kept.at(i);
      if (kept === undefined || kept.sequence > sequence) break;
      if (kept.sequence > 0) this.#answer(kept);
    }
    trim(source);
  }

  #answerEach(source: CommandSource, isIt: (kept: KeptCommand) => boolean): void {
    for (let i = 0; i < source.kept.length; i += 1) {
      const kept = source.kept.at(i);
      if (kept !== undefined && isIt(kept)) this.#answer(kept);
    }
    trim(source);
  }

  /** The table has executed it. */
  #answer(kept: KeptCommand): void {
    if (kept.isSettled) return;
    this.#times.answered(kept.command.op, kept.arrivalUs);
    this.#settle(kept);
  }

  #settle(kept: KeptCommand): void {
    if (kept.isSettled) return;
    kept.isSettled = true;
    this.#bytes -= kept.recordBytes;
    kept.identity.keptBytes -= kept.recordBytes;
  }
}

/** Drops settled commands from the front. */
function trim({ kept }: CommandSource): void {
  for (let first = kept.at(0); first?.isSettled === true; first = kept.at(0)) kept.shift();
}

/**
 * A view keeps its whole frame alive. A large frame may contain much else, so its commands are
 * copied.
 */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.buffer.byteLength > SHARED_FRAME_BYTES_MAX ? new Uint8Array(bytes) : bytes;
}
