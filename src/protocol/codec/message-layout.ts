/**
 * Declares every message of a node to clients once: its fields in the order of the wire, after the
 * number of its kind, which is in `MESSAGE`; its type explains its fields. The writer
 * (`write-server-message.ts`) and the reader of clients (`net/framing`) go by it.
 */
import { MEMBERS_MAX, PROTOCOL_VERSION, RECALL_MAX } from "../limits.js";
import {
  type Answer,
  type Changes,
  MESSAGE,
  type NodeEndpoint,
  type Outcome,
  RECALL_STATE,
  type RecalledSequence,
  type Reply,
  type ServerMessage,
  STATUS,
} from "../replies.js";
import type { Layout, MessagePositions } from "./positions.js";
import { heldItems, result } from "./result-layout.js";

type Of<K> = Extract<ServerMessage, { readonly kind: K }>;
type MessageLayout<K> = (io: MessagePositions, of: Of<K>, kind: K) => Of<K>;

const numberInList: Layout<number> = (io, number) => io.number(number);
const endpoint: Layout<NodeEndpoint> = (io, node) => ({
  id: io.number(node.id),
  endpoint: io.text(node.endpoint),
});
const endpoints: Layout<readonly NodeEndpoint[]> = (io, all) =>
  io.arrays(all, MEMBERS_MAX, endpoint);

/** What is not known of a node of another version, nor read. */
const OF_ANOTHER_VERSION = Object.freeze({
  ...{ clusterId: "", nodeId: 0, leaderId: 0, endpoints: [], frameBytesMax: 0, voters: [] },
});
/** What a refusal to attach does not say. */
const NOT_ATTACHED = { session: 0, epoch: 0, highestSequence: 0, stamp: 0, ttlMs: 0, index: 0 };

type Recalled<S> = Extract<RecalledSequence, { readonly state: S }>;
const recalledSequence: Layout<RecalledSequence, MessagePositions> = (io, of) => {
  const sequence = io.number(of.sequence);
  const state = io.recallState(of.state);
  switch (state) {
    case RECALL_STATE.held: {
      const hold = of as Recalled<typeof state>;
      return {
        sequence,
        state,
        token: io.token(hold.token),
        items: heldItems(io, hold.items),
        value: io.text(hold.value),
        grantedAt: io.number(hold.grantedAt),
        endsAt: io.number(hold.endsAt),
        isRevoked: io.boolean(hold.isRevoked),
        isContended: io.boolean(hold.isContended),
      };
    }
    case RECALL_STATE.ended: {
      const end = of as Recalled<typeof state>;
      return { sequence, state, token: io.token(end.token), reason: io.endReason(end.reason) };
    }
    case RECALL_STATE.replied: {
      const reply = of as Recalled<typeof state>;
      const stamp = io.number(reply.stamp);
      return { sequence, state, stamp, result: io.part(reply.result, result) };
    }
    default:
      return { sequence, state };
  }
};

const reply = <K extends number>(io: MessagePositions, of: Reply | Outcome, kind: K) => ({
  kind,
  sequence: io.number(of.sequence),
  stamp: io.number(of.stamp),
  result: io.part(of.result, result),
});
const answer = <K extends number>(io: MessagePositions, of: Answer | Changes, kind: K) => ({
  kind,
  id: io.number(of.id),
  status: io.okOrError(of.status),
  payload: io.payload(of.payload),
});

const LAYOUTS: { readonly [N in keyof typeof MESSAGE]: MessageLayout<(typeof MESSAGE)[N]> } = {
  hello(io, of, kind) {
    const version = io.number(of.version);
    if (version !== PROTOCOL_VERSION) return { kind, version, ...OF_ANOTHER_VERSION };
    return {
      kind,
      version,
      clusterId: io.text(of.clusterId),
      nodeId: io.number(of.nodeId),
      leaderId: io.number(of.leaderId),
      endpoints: endpoints(io, of.endpoints),
      frameBytesMax: io.number(of.frameBytesMax),
      voters: io.list(of.voters, MEMBERS_MAX, numberInList),
    };
  },
  attached(io, of, kind) {
    const key = "";
    const attempt = io.number(of.attempt);
    const status = io.okOrError(of.status);
    if (status !== STATUS.ok) return { kind, key, attempt, status, ...NOT_ATTACHED };
    return {
      kind,
      key,
      attempt,
      status,
      session: io.number(of.session),
      epoch: io.number(of.epoch),
      highestSequence: io.number(of.highestSequence),
      stamp: io.number(of.stamp),
      ttlMs: io.number(of.ttlMs),
      index: io.number(of.index),
    };
  },
  reply,
  outcome: reply,
  renewed: (io, of, kind) => ({ kind, number: io.number(of.number), stamp: io.number(of.stamp) }),
  recalled: (io, of, kind) => ({
    kind,
    number: io.number(of.number),
    stamp: io.number(of.stamp),
    sequences: io.arrays(of.sequences, RECALL_MAX, recalledSequence),
  }),
  ended: (io, of, kind) => ({
    kind,
    session: io.number(of.session),
    reason: io.endReason(of.reason),
  }),
  answer,
  leader: (io, of, kind) => ({
    kind,
    leaderId: io.number(of.leaderId),
    endpoints: endpoints(io, of.endpoints),
  }),
  move: (_io, _of, kind) => ({ kind }),
  contended: (io, of, kind) => ({ kind, sequence: io.number(of.sequence) }),
  revoking: (io, of, kind) => ({
    kind,
    sequence: io.number(of.sequence),
    stamp: io.number(of.stamp),
    endsAt: io.number(of.endsAt),
    reason: io.text(of.reason),
  }),
  lost: (io, of, kind) => ({
    kind,
    sequence: io.number(of.sequence),
    token: io.token(of.token),
    stamp: io.number(of.stamp),
    reason: io.endReason(of.reason),
  }),
  changes: answer,
  refused: (io, of, kind) => ({
    kind,
    sequence: io.number(of.sequence),
    status: io.error(of.status),
  }),
};

type AnyLayout = (io: MessagePositions, of: unknown, kind: number) => ServerMessage;
const BY_KIND: (AnyLayout | undefined)[] = [];
for (const [name, layout] of Object.entries(LAYOUTS)) {
  BY_KIND[MESSAGE[name as keyof typeof MESSAGE]] = layout as AnyLayout;
}

/** `undefined` for a message of a kind that is not known here. */
export const serverMessage: Layout<ServerMessage | undefined, MessagePositions> = (io, of) => {
  const kind = io.kind((of as ServerMessage).kind);
  return BY_KIND[kind]?.(io, of, kind);
};
