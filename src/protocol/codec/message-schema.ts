/**
 * Declares every message of a node to clients once: its fields in the order of the wire, after the
 * number of its kind, which is in `MESSAGE`; its type explains its fields. The writer
 * (`write-server-message.ts`) and the reader of clients (`net/framing`) go by it.
 */
import type { ErrorNumber } from "../../errors/index.js";
import { MEMBERS_MAX, PROTOCOL_VERSION, RECALL_MAX } from "../limits.js";
import {
  type Attached,
  MESSAGE,
  type NodeEndpoint,
  RECALL_STATE,
  type RecalledSequence,
  type ServerMessage,
  STATUS,
} from "../replies.js";
import type { Codec } from "./codec.js";
import { array, before, fields, list, type Positions, tagged, within } from "./positions.js";
import {
  boolean,
  endReason,
  heldItems,
  RESULT,
  type ResultSource,
  string,
  token,
  uint,
} from "./result-schema.js";
import type { Writer } from "./writer.js";

/** What messages are read from. */
export interface MessageSource extends ResultSource {
  /** 0, or the number of an error, which a client may not know yet. */
  okOrError(): typeof STATUS.ok | ErrorNumber;
  /** The number of an error, which a client may not know yet. */
  error(): ErrorNumber;
  recallState(): number;
  payload(): unknown;
}

type MessageForms<T> = Positions<T, MessageSource, Writer>;
type MessageName = keyof typeof MESSAGE;
type FieldsOf<N extends MessageName> = Omit<
  Extract<ServerMessage, { readonly kind: (typeof MESSAGE)[N] }>,
  "kind"
>;

const writeUint = (to: Writer, value: number): void => to.uint(value);
const error: Codec<ErrorNumber, MessageSource, Writer> = {
  read: (from) => from.error(),
  write: writeUint,
};
const okOrError: Codec<typeof STATUS.ok | ErrorNumber, MessageSource, Writer> = {
  read: (from) => from.okOrError(),
  write: writeUint,
};
/** Written as the bytes into which it was packed; `null` as nil. */
const payload: Codec<unknown, MessageSource, Writer> = {
  read: (from) => from.payload(),
  write: (to, packed) => (packed === null ? to.nil() : to.raw(packed as Uint8Array)),
};
const endpoints = list(
  array(fields<NodeEndpoint, MessageSource, Writer>({ id: uint, endpoint: string })),
  MEMBERS_MAX,
);
const nothing: MessageForms<object> = fields({});

const attachment = fields<
  Omit<Attached, "kind" | "key" | "attempt" | "status">,
  MessageSource,
  Writer
>({
  ...{ session: uint, epoch: uint, highestSequence: uint, stamp: uint, ttlMs: uint, index: uint },
});

type Recalled<S> = Omit<Extract<RecalledSequence, { readonly state: S }>, "sequence" | "state">;
const held: MessageForms<Recalled<typeof RECALL_STATE.held>> = fields({
  ...{ token, items: heldItems, value: string, grantedAt: uint, endsAt: uint },
  ...{ isRevoked: boolean, isContended: boolean },
});
const ended: MessageForms<Recalled<typeof RECALL_STATE.ended>> = fields({
  token,
  reason: endReason,
});
const replied = before<Recalled<typeof RECALL_STATE.replied>, MessageSource, Writer>(
  { stamp: uint },
  within("result", RESULT),
);

function recalledAs(state: number): MessageForms<object> {
  if (state === RECALL_STATE.held) return held;
  if (state === RECALL_STATE.ended) return ended;
  return state === RECALL_STATE.replied ? replied : nothing;
}

const recalledSequence = array(
  before<RecalledSequence, MessageSource, Writer>(
    { sequence: uint },
    tagged("state", (from: MessageSource) => from.recallState(), recalledAs),
  ),
);

const reply = before<FieldsOf<"reply">, MessageSource, Writer>(
  { sequence: uint, stamp: uint },
  within("result", RESULT),
);
const answer: MessageForms<FieldsOf<"answer">> = fields({ id: uint, status: okOrError, payload });

const hello: MessageForms<Omit<FieldsOf<"hello">, "version">> = fields({
  ...{ clusterId: string, nodeId: uint, leaderId: uint, endpoints },
  ...{ frameBytesMax: uint, voters: list(uint, MEMBERS_MAX) },
});

const SCHEMA: { readonly [N in MessageName]: MessageForms<FieldsOf<N>> } = {
  // Nothing is known of what follows the number of another version.
  hello: tagged(
    "version",
    (from: MessageSource) => from.uint(),
    (version) => (version === PROTOCOL_VERSION ? hello : nothing),
  ),
  attached: before<FieldsOf<"attached">, MessageSource, Writer>(
    { attempt: uint },
    tagged(
      "status",
      (from: MessageSource) => from.okOrError(),
      (status) => (status === STATUS.ok ? attachment : nothing),
    ),
  ),
  reply,
  outcome: reply,
  renewed: fields({ number: uint, stamp: uint }),
  recalled: fields({ number: uint, stamp: uint, sequences: list(recalledSequence, RECALL_MAX) }),
  ended: fields({ session: uint, reason: endReason }),
  answer,
  leader: fields({ leaderId: uint, endpoints }),
  move: nothing,
  contended: fields({ sequence: uint }),
  revoking: fields({ sequence: uint, stamp: uint, endsAt: uint, reason: string }),
  lost: fields({ sequence: uint, token, stamp: uint, reason: endReason }),
  changes: answer,
  refused: fields({ sequence: uint, status: error }),
};

/** By the numbers of their kinds. */
export const MESSAGE_FORMS: readonly (MessageForms<object> | undefined)[] = Object.entries(
  SCHEMA,
).reduce<MessageForms<object>[]>((all, [name, of]) => {
  all[MESSAGE[name as MessageName]] = of as MessageForms<object>;
  return all;
}, []);
