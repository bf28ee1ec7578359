/**
 * Limits of the protocol. A request or connection that exceeds one is refused with
 * `INVALID_ARGUMENT` or closed, with a message that names the limit.
 */

/**
 * The version of what clients and nodes say to each other: requests, messages and the payloads of
 * answers. A node names it at the beginning of its first message, and a client of another version
 * reads no further and leaves. Raise it with every change by which one side would misread the other.
 * It can stay when something is added that clients pass over: kinds of messages, positions at the
 * end, reasons and errors. Nodes have a version among themselves (`MODEL_VERSION`).
 */
export const PROTOCOL_VERSION = 3;
/** The name of the protocol, without a version, when a connection becomes a WebSocket. */
export const SUBPROTOCOL = "holdfast";

/** A key is 1 … 512 bytes of UTF-8 without control characters. */
export const KEY_BYTES_MAX = 512;
/** Keys that begin with this are reserved for escaped names. */
export const RESERVED_KEY_PREFIX = "~";
/**
 * Keys under these prefixes are escaped names, which can be any string (`lock-names.ts`): of Web
 * Locks, and of Redis clients after the number of their database. No other keys are under `~` so far.
 */
export const LOCK_NAME_PREFIX = "~locks/";
export const REDIS_NAME_PREFIX = "~redis/";
export const ITEMS_MAX = 16;
export const SESSION_NAME_BYTES_MAX = 256;
export const METADATA_BYTES_MAX = 1_024;
export const NONCE_BYTES = 16;
/** The highest attempt of an attach, and the highest epoch: 32 bits each in a batch. */
export const ATTEMPT_MAX = 2 ** 32 - 1;

export const TTL_MS_MIN = 1_000;
export const TTL_MS_MAX = 600_000;
export const TTL_MS_DEFAULT = 15_000;
/** The longest lease of a named owner that the setting `leaseTtlMsMax` can allow. */
export const LEASE_SETTING_MS_MAX = 7 * 86_400_000;
/**
 * A hundredth more: what doors add for clients that keep no margin for the rates of clocks. The
 * setting limits what such a client asked for, so a lease may last this much longer than it says.
 */
export function withLeaseMargin(ms: number): number {
  return ms + Math.ceil(ms / 100);
}

/** The longest `ttlMs` of a lease under any setting. */
export const LEASE_TTL_MS_MAX = withLeaseMargin(LEASE_SETTING_MS_MAX);
/** What names the owner of a lease, and one request of that owner. */
export const OWNER_BYTES = 16;
export const REQUEST_ID_BYTES = 16;
/** The longest wait that can be requested; waiting without a deadline is `WAIT_FOREVER`. */
export const WAIT_MS_MAX = 2 ** 32 - 1;

/** A text that others see with a hold; in bytes of UTF-8. */
export const VALUE_BYTES_MAX = 1_024;
/** The values of an act in all its steps, together; in bytes of UTF-8. */
export const ACT_VALUES_BYTES_MAX = 8_192;
/** The reason of a revoke, for the holder; in bytes of UTF-8. */
export const REASON_BYTES_MAX = 256;
/** What names a bearer, as confidential as a nonce. */
export const SECRET_BYTES = 16;
export const PRIORITY_MAX = 60;
export const MAX_HOLD_MS_MIN = 1_000;
export const LOCK_DELAY_MS_MAX = 60_000;
/** The longest time that a revoke can leave to the holder before force. */
export const GRACE_MS_MAX = 3_600_000;
/** Permits of one acquire, over all its items, because the grant lists the slot of each. */
export const PERMITS_MAX = 1_024;
/** Permits of one semaphore. */
export const LIMIT_MAX = 1_000_000;
/** The lowest token of all. */
export const TOKEN_MIN = 2 ** 41;
export const SEQUENCE_MAX = 2 ** 41 - 1;
export const SETTING_NAME_BYTES_MAX = 64;
/** Blockers that a refusal names. */
export const BLOCKERS_MAX = 4;
/**
 * Members of a cycle of waits that are named: the refusal is stored, and a cycle can have any
 * number.
 */
export const CYCLE_MEMBERS_MAX = 64;
/** The address of a client in the log; longer than any that a socket has. */
export const ORIGIN_ADDRESS_BYTES_MAX = 64;
/** Refused deadlocks that a node shows with the wait-for graph. */
export const REFUSED_DEADLOCKS_MAX = 16;
/** Possible deadlocks that a node shows with it, and counts. */
export const POSSIBLE_DEADLOCKS_MAX = 16;

/**
 * Commands of one session from the first whose reply has not been read (its mark) to the newest.
 * Waits after the answer `queued` do not count, nor do keepalives.
 */
export const IN_FLIGHT_MAX = 1_024;
/** Sequences of one `recall`. */
export const RECALL_MAX = 1_000;
/** Sequences acknowledged by one command. */
export const ACKNOWLEDGED_MAX = 1_024;
/** Waiters of one key. */
export const WAITERS_MAX = 100_000;

export const CLIENT_FRAME_BYTES_MAX = 1 << 20;
/** More than the longest allowed request, which has 16 long keys with values and 1,024 acknowledgements. */
export const REQUEST_BYTES_MAX = 28_000;
/** Requests of one client frame. */
export const CLIENT_FRAME_REQUESTS_MAX = 16_384;
/** The largest frame that a client reads. */
export const SERVER_FRAME_BYTES_MAX = 16 << 20;
export const PEER_FRAME_BYTES_MAX = 16 << 20;
/** A chunk of a snapshot as sent between nodes. */
export const SNAPSHOT_CHUNK_BYTES_MAX = 1 << 20;
/** The checksum that identifies a snapshot, a SHA-256. */
export const CHECKSUM_BYTES = 32;
/** The highest number of a chunk. */
export const CHUNK_MAX = 2 ** 32 - 1;
/** A configuration as the core encodes it; `MEMBERS_MAX` members need less. */
export const CONFIGURATION_BYTES_MAX = 16 << 10;

/** Edges in one answer to `waitGraph`: as many as take a node a few milliseconds. */
export const WAIT_GRAPH_EDGES_MAX = 2_000;
/** Tenures in one answer to `history`. */
export const HISTORY_PAGE_MAX = 1_000;
/**
 * As the number of a revision it means "after everything that the entry changed". Numbers of
 * changes are smaller.
 */
export const REVISION_NUMBER_MAX = 2 ** 32 - 1;
/** Watches of one connection. */
export const WATCHES_MAX = 256;

/** Entries in one answer to `audit`. */
export const AUDIT_PAGE_MAX = 200;
/** Blocks and records that an audit may have. */
export const AUDIT_NUMBER_MAX = 2 ** 48;
/** Points and events in one answer to `vitals`. */
export const VITALS_POINTS_MAX = 180;
export const VITALS_EVENTS_MAX = 256;
/** The length of an event, in UTF-16 units. The longest names 45 members. */
export const VITALS_EVENT_CHARACTERS_MAX = 1_024;
/** The vitals of one member for another, as JSON: room for as many points and events as there can be. */
export const VITALS_TEXT_BYTES_MAX = 1 << 20;

/** Keys or sessions of one page: as many as take a node a few milliseconds. */
export const QUERY_PAGE_MAX = 200;

/** The name of an identity, and the label of one of its credentials; ASCII. */
export const IDENTITY_NAME_BYTES_MAX = 128;
export const LABEL_BYTES_MAX = 64;
/** The digest of a token: a SHA-256. */
export const TOKEN_DIGEST_BYTES = 32;
/** An access token as its client sends it, in printable ASCII. */
export const ACCESS_TOKEN_BYTES_MAX = 512;
/** The highest number of a credential: 32 bits wide in a batch. The last one is `LOCAL_CREDENTIAL`. */
export const CREDENTIAL_MAX = 2 ** 32 - 2;
/** The credential of a connection that has shown none: it belongs to the identity `anonymous`. */
export const NO_CREDENTIAL = 0;
/**
 * The credential of a client at the socket in a node's directory: it belongs to the identity
 * `local`.
 */
export const LOCAL_CREDENTIAL = 2 ** 32 - 1;
/** Identities that always exist, and have no credentials in the table. */
export const ANONYMOUS = "anonymous";
export const LOCAL = "local";
/** The last millisecond that a `Date` can show. */
/** How long a node writes another log level than the one it was started with: a day. */
export const LOG_LEVEL_MS_MAX = 86_400_000;
export const WALL_MS_MAX = 8.64e15;

/** `host:port` of a member, in printable ASCII. */
export const ADDRESS_BYTES_MAX = 255;
/** Voters and learners of one cluster. */
export const MEMBERS_MAX = 15;
/** The highest number that a node can have. */
export const NODE_ID_MAX = 2 ** 32 - 1;
/** Bytes of an operation; the longest allowed one has 275. */
export const OPERATION_BYTES_MAX = 512;
