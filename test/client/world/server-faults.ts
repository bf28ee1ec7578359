/**
 * The faults of the network and the nodes of a `TableServer`, which a test may change at any time.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../../src/errors/index.js";
import type { Command, SequencedCommand } from "../../../src/protocol/index.js";

export interface ServerFaults {
  /** Each message takes between these, and none overtakes another on its connection. */
  latencyMs: readonly [number, number];
  /** From a command's admission to its entry being applied, for each node on its own. */
  commitMs: readonly [number, number];
  /** Probability that a command is applied once more, at any time and in any order. */
  duplicates: number;
  /** How much later that is. */
  duplicateMs: readonly [number, number];
  /**
   * Probability that what a node passes on is lost, so that it passes on all that it keeps again.
   */
  losses: number;
  /** Probability that a node has no room for a strong command, though it has for the next one. */
  refusals: number;
  /** Probability that a node has no room at all: not even for other commands with a sequence. */
  hardRefusals: number;
  /** For which commands the node has no room, whatever it has for others. */
  refuses: (command: Command) => boolean;
  /** Which commands have values that are not allowed, as far as the node can see. */
  refusesForGood: (command: SequencedCommand) => boolean;
  /**
   * What the node refuses that it reaches: strong commands, all with a sequence, or attaching and
   * reads too.
   */
  busy: "nothing" | "strong" | "commands" | "everything";
  /** What it says then. */
  refusal: ErrorNumber;
  /** The connection breaks when the node has read such a command, before it is admitted. */
  cutsBefore: (command: Command) => boolean;
  /** The connection breaks when such a command was executed, before it is answered. */
  cutsAfter: (command: SequencedCommand) => boolean;
  /** Nobody leads: time stands still and nothing is applied. */
  isLeaderless: boolean;
  /** Nodes that cannot be reached: new connections fail. */
  readonly downNodes: Set<number>;
  /** Nodes whose whole machine is gone: nobody even says that a connection fails. */
  readonly silentNodes: Set<number>;
  /** The answers of operations get lost: the connection breaks behind each change. */
  losesAnswers: boolean;
  /** What becomes of a token that is shown: looked up, refused for now, or the connection closed. */
  signIn: "works" | "busy" | "closed";
}

export function noFaults(): ServerFaults {
  return {
    latencyMs: [0.2, 2],
    commitMs: [0.5, 3],
    duplicates: 0,
    duplicateMs: [0, 40],
    losses: 0,
    refusals: 0,
    hardRefusals: 0,
    refuses: () => false,
    refusesForGood: () => false,
    busy: "nothing",
    refusal: ERROR_NUMBERS.BUSY,
    cutsBefore: () => false,
    cutsAfter: () => false,
    isLeaderless: false,
    downNodes: new Set(),
    silentNodes: new Set(),
    losesAnswers: false,
    signIn: "works",
  };
}
