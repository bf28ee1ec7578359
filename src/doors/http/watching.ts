/**
 * Watches as server-sent events: each change is an event with an id, so that a client that connects
 * again continues where it was. When the cluster has forgotten the changes since then, the event
 * `reset` says that some are missing.
 */
import type { Change, Client, Revision, Watch } from "../../client/index.js";
import { HoldfastError } from "../../errors/index.js";
import { type DoorClock, every } from "../clock.js";
import { EventStream, type WaitingEvents } from "./event-stream.js";
import type { Exchange } from "./exchange.js";
import { badRequest } from "./problems.js";

const KEEPALIVE_MS = 15_000;
/** How long a browser waits before it connects again. */
const RETRY_MS = 1_000;
const EVENT_ID = /^(\d{1,16})\.(\d{1,16})$/;

const HEADERS: readonly string[] = [
  ...["Content-Type", "text/event-stream"],
  ...["Cache-Control", "no-store, no-transform"],
  // Proxies that buffer answers would keep the changes.
  ...["X-Accel-Buffering", "no"],
];

/**
 * Resolves when the caller has left, the cluster ends the watch or `ending` is aborted. Rejects, with
 * nothing answered, if the watch cannot begin.
 */
export async function watchChanges(
  exchange: Exchange,
  client: Client,
  prefix: string,
  ending: AbortSignal,
  shared: { readonly waiting: WaitingEvents; readonly clock: DoorClock },
): Promise<void> {
  const after = revisionOf(exchange);
  let begun = await begin(client, prefix, after, ending);
  const stream = new EventStream(exchange.begin(HEADERS), shared.waiting);
  stream.send(`retry: ${RETRY_MS}\n${eventText("begun", begun.watch.revision, "{}")}`);
  if (begun.isReset) stream.send(resetText(begun));
  const endKeepalives = every(shared.clock, KEEPALIVE_MS, () => {
    stream.keepalive(`: keepalive\n${idText(begun.watch.revision)}\n`);
  });
  try {
    for (;;) {
      await sendChanges(stream, begun);
      begun = await begin(client, prefix, undefined, ending);
      stream.send(resetText(begun));
    }
  } catch {
    // A client that connects again learns why.
  } finally {
    endKeepalives();
    await begun.watch.return?.();
    stream.end();
  }
}

interface BegunWatch {
  readonly watch: Watch;
  readonly first: Promise<IteratorResult<Change>>;
  /** The changes that it should have begun with are forgotten. */
  readonly isReset: boolean;
}

async function begin(
  client: Client,
  prefix: string,
  after: Revision | undefined,
  signal: AbortSignal,
): Promise<BegunWatch> {
  const watch = client.watch({ prefix }, { after, signal });
  await watch.begun;
  const first = watch.next();
  try {
    // One that is over rejects at once; one that has begun may wait for long.
    await Promise.race([first, undefined]);
  } catch (error) {
    if (after === undefined || !isCompacted(error)) throw error;
    return { ...(await begin(client, prefix, undefined, signal)), isReset: true };
  }
  return { watch, first, isReset: false };
}

/** Resolves when the cluster has forgotten the next change. */
async function sendChanges(stream: EventStream, { watch, first }: BegunWatch): Promise<void> {
  try {
    for (let next = await first; next.done !== true; next = await watch.next()) {
      const { value: change } = next;
      stream.send(eventText(change.type, change.revision, bodyOf(change)));
    }
  } catch (error) {
    if (!isCompacted(error)) throw error;
  }
}

function isCompacted(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "COMPACTED";
}

/** Where a client that connects again wants to continue. */
function revisionOf({ headers }: Exchange): Revision | undefined {
  const id = headers["last-event-id"];
  if (id === undefined || id === "") return undefined;
  const [, index, number] = EVENT_ID.exec(String(id)) ?? [];
  if (index === undefined) throw badRequest("Last-Event-ID is not the id of an event of a watch");
  return { index: Number(index), number: Number(number) };
}

function resetText({ watch }: BegunWatch): string {
  return eventText("reset", watch.revision, "{}");
}

function eventText(type: string, revision: Revision | undefined, body: string): string {
  return `${idText(revision)}event: ${type}\ndata: ${body}\n\n`;
}

/** Without a body it is not an event, but a browser keeps the id. */
function idText(revision: Revision | undefined): string {
  return revision === undefined ? "" : `id: ${revision.index}.${revision.number}\n`;
}

/** What an event says; its type and revision stand next to it. */
function bodyOf({ type: _type, revision: _revision, ...change }: Change): string {
  return JSON.stringify(change);
}
