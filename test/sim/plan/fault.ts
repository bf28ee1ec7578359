/** The kinds of faults, as plain data. Times are simulated milliseconds. */
import type { MemberAction } from "../../../src/protocol/index.js";
import type { CrashKind, DiskMoment } from "../world/disk/node-disk.js";

/** How the process of an application ends; `twins`: it hands what it holds over to two others. */
export type ClientEnding = "kill" | "handOver" | "twins";

/**
 * For its session on another connection, what became of its calls, that holds change hands, or that one
 * becomes exclusive.
 */
export type Question = "resume" | "recall" | "handOver" | "adopt" | "upgrade";

/** In place of a node's number: the node that leads at that time, or the first node. */
export const LEADER = 0;
/** The node after the one that leads. */
export const FOLLOWER = -1;

interface At {
  readonly atMs: number;
}

export type Fault = At &
  (
    | {
        readonly kind: "crash";
        readonly node: number;
        readonly crash: CrashKind;
        readonly downMs: number;
        /** Dies in the middle of a turn, after this many more effects have reached the world. */
        readonly afterEffects: number;
      }
    | {
        /** It dies at such a moment, or up to some effects later, and its successor as it starts. */
        readonly kind: "crashAtMoment";
        readonly node: number;
        readonly moment: DiskMoment;
        readonly crash: CrashKind;
        readonly downMs: number;
        readonly afterEffects: number;
        /** The successor dies after this many. */
        readonly againAfterEffects: number;
      }
    | {
        /**
         * It hears nobody for this long. When it then is about to name a snapshot that it was sent,
         * its disk hangs and the leader dies.
         */
        readonly kind: "aloneAtInstall";
        readonly node: number;
        readonly awayMs: number;
        readonly hangMs: number;
        readonly downMs: number;
      }
    | {
        /** Each turn of a node ends this many heartbeats late. */
        readonly kind: "lateTurns";
        readonly node: number;
        readonly heartbeats: number;
        readonly forMs: number;
      }
    | {
        /** What nodes say to a client in that time comes late, on connections that stand. */
        readonly kind: "holdAnswers";
        readonly client: number;
        readonly byMs: number;
        readonly forMs: number;
        /** It stands still meanwhile; 0: it does not. */
        readonly pauseMs: number;
      }
    /** An application is cut off just after it next asks that. */
    | {
        readonly kind: "cutAtAsking";
        readonly client: number;
        readonly question: Question;
        readonly afterMs: number;
        readonly forMs: number;
      }
    | { readonly kind: "crashAll"; readonly crash: CrashKind; readonly downMs: number }
    | { readonly kind: "pause"; readonly node: number; readonly forMs: number }
    | {
        readonly kind: "pauseClient";
        readonly client: number;
        readonly forMs: number;
        /** It stands still from the moment it next hears of a grant: the paused holder. */
        readonly whenGranted: boolean;
      }
    | { readonly kind: "reconnectClient"; readonly client: number }
    /** As soon as an application has its session, again or for the first time, it is alone. */
    | { readonly kind: "cutAtAttach"; readonly client: number; readonly forMs: number }
    | {
        readonly kind: "restartClient";
        /** An application of the SDK. */
        readonly client: number;
        /** Its process is killed, or hands over what it holds. */
        readonly how: ClientEnding;
        readonly downMs: number;
        /** So long after it next asks for an upgrade; `undefined`: at once. */
        readonly afterUpgradeMs?: number;
      }
    | { readonly kind: "partition"; readonly side: readonly number[]; readonly forMs: number }
    | { readonly kind: "bridge"; readonly node: number; readonly forMs: number }
    | { readonly kind: "cut"; readonly from: number; readonly to: number; readonly forMs: number }
    | { readonly kind: "reset"; readonly from: number; readonly to: number }
    | {
        readonly kind: "slow";
        readonly from: number;
        readonly to: number;
        readonly byMs: number;
        readonly forMs: number;
      }
    | {
        /** A share of the frames between nodes is passed on twice, or later than the next ones. */
        readonly kind: "disorder";
        readonly share: number;
        readonly forMs: number;
      }
    | { readonly kind: "hangDisk"; readonly node: number; readonly forMs: number }
    | {
        readonly kind: "slowDisk";
        readonly node: number;
        readonly factor: number;
        readonly forMs: number;
      }
    | { readonly kind: "fullDisk"; readonly node: number; readonly forMs: number }
    /** Its process has little memory left. */
    | { readonly kind: "scarceMemory"; readonly node: number; readonly forMs: number }
    | {
        readonly kind: "failWrite";
        readonly node: number;
        readonly afterOperations: number;
      }
    | {
        readonly kind: "failRead";
        readonly node: number;
        readonly afterOperations: number;
        readonly downMs: number;
      }
    | {
        readonly kind: "flipBits";
        readonly node: number;
        readonly bits: number;
        readonly downMs: number;
      }
    | { readonly kind: "loseSegment"; readonly node: number; readonly downMs: number }
    | {
        /** Its store has lost some of what was written last, and does not know. */
        readonly kind: "loseRecords";
        readonly node: number;
        /** The newest, or some in the middle. */
        readonly isTail: boolean;
        readonly downMs: number;
      }
    | {
        /** Single keys of its store vanish, new ones and old ones. */
        readonly kind: "loseKeys";
        readonly node: number;
        readonly keys: number;
        readonly downMs: number;
      }
    | {
        /**
         * Bits turn over and keys vanish under its running process. It is to lead by then, and `away`,
         * which hears nobody until then, may want a snapshot of it.
         */
        readonly kind: "rot";
        readonly node: number;
        readonly bits: number;
        readonly keys: number;
        readonly away: number;
        readonly forMs: number;
      }
    | {
        /** A voter's directory is emptied, and it is started again as if nothing had happened. */
        readonly kind: "wipeDisk";
        readonly node: number;
        readonly downMs: number;
      }
    | {
        /** An operator brings it back, its data being lost or merely distrusted. */
        readonly kind: "recover";
        readonly node: number;
        readonly isLost: boolean;
      }
    | {
        /** It is started some times more, and then on what was on its disk before. */
        readonly kind: "oldCopy";
        readonly node: number;
        readonly starts: number;
        readonly everyMs: number;
        readonly downMs: number;
      }
    | {
        /** Until then its executable is one version older or newer than the others'. */
        readonly kind: "otherVersion";
        readonly node: number;
        readonly by: -1 | 1;
        readonly forMs: number;
      }
    | { readonly kind: "transfer"; readonly node: number }
    | {
        /** The leader dies in the middle of a turn, and so does the next one, and the one after. */
        readonly kind: "crashLeaders";
        readonly times: number;
        readonly everyMs: number;
        readonly crash: CrashKind;
        readonly downMs: number;
        readonly afterEffects: number;
      }
    | {
        /**
         * What the others say to `node` comes later and later, up to `byMs`, and then leadership is
         * taken from it without its knowing: it is heard no more, it hands over, or it changes the
         * members while nobody hears it. Clients still reach it.
         */
        readonly kind: "strand";
        readonly node: number;
        readonly byMs: number;
        readonly forMs: number;
        readonly act: "cut" | "transfer" | "cutAndChange";
        /** Whom it tries to promote or demote; 0 where the members are always the same. */
        readonly member: number;
      }
    | {
        readonly kind: "changeMember";
        readonly action: MemberAction;
        readonly node: number;
        /** The leader dies this much later, in the middle of it; 0: nobody does. */
        readonly crashAfterMs: number;
        readonly downMs: number;
      }
    | {
        /**
         * The voters and the leader do not hear each other any more, but learners still hear it and
         * answer: `member` is made one before, if it is not a member.
         */
        readonly kind: "learnersOnly";
        readonly member: number;
        readonly forMs: number;
      }
    | { readonly kind: "jumpWall"; readonly node: number; readonly byMs: number }
    | TimedOnly
  );

/** Only timed plans have these, so that no other plan is changed by them. */
type TimedOnly =
  | {
      /** The machine gets no time: what was sent to it comes after it goes on. */
      readonly kind: "freeze";
      readonly node: number;
      readonly forMs: number;
      /** Suspended: its monotonic clock stands as well. */
      readonly isAsleep: boolean;
    }
  | {
      /** Its next write that is done at once hangs for so long, and its process with it. */
      readonly kind: "hangWriteNow";
      readonly node: number;
      readonly forMs: number;
    }
  | { readonly kind: "failWriteNow"; readonly node: number }
  | {
      /** The machine of an application of the SDK sleeps. */
      readonly kind: "suspendClient";
      readonly client: number;
      readonly forMs: number;
      /** Its wall clock is set by this much meanwhile. */
      readonly wallMs: number;
    }
  | { readonly kind: "jumpClientWall"; readonly client: number; readonly byMs: number };

export type FaultKind = Exclude<Fault["kind"], TimedOnly["kind"]>;
