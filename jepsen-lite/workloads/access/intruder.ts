/**
 * Tries to do what it may not: without a token, with one that does not exist, with one that was
 * removed, as an identity that may only observe, and as identities whose right or credential comes
 * and goes. It records everything that it tries; what it achieves is judged like all else.
 */
import {
  areaOf,
  credentialOf,
  FICKLE,
  LEAVER,
  LOCK_IDENTITIES,
  OBSERVER,
} from "../../access/keyring.js";
import { type Admin, type Client, HoldfastError } from "../../sdk.js";
import { grantOf } from "../lock-operations.js";
import { holdsOf } from "../watching.js";
import type { Operation, Worker } from "../workload.js";

const ANONYMOUS = "anonymous";
const FORGED = "forged";
/** Any printable text can be a token: the cluster compares digests. */
const FORGED_TOKEN = "hunter2-hunter2-hunter2-hunter2";
const LISTED_MAX = 50;
const RIGHTS = ["grant", "put-credential"] as const;

export async function intrude(worker: Worker): Promise<void> {
  const intruder = new Intruder(worker);
  while (!worker.signal.aborted) {
    await intruder.attempt();
    await worker.sleep(worker.random.integer(10, 80));
  }
  await intruder.close();
}

/** The first keys that are shown to this client. */
export async function listed(views: Pick<Client, "query">): Promise<{ keys: string[] }> {
  const keys: string[] = [];
  for await (const { key } of views.query()) {
    keys.push(key);
    if (keys.length === LISTED_MAX) break;
  }
  return { keys };
}

/** Not a lock, so that its limit can be set. */
export function limitKeyOf(area: string): string {
  return `${area}limit`;
}

class Intruder {
  readonly #worker: Worker;
  /** Open sessions, by credential. */
  readonly #clients = new Map<string, Client>();

  constructor(worker: Worker) {
    this.#worker = worker;
  }

  async attempt(): Promise<void> {
    const { random, keyring } = this.#worker;
    const { leaver, removed } = keyring;
    const strangers = [ANONYMOUS, FORGED, credentialOf(OBSERVER), ...removed];
    const guests = [credentialOf(FICKLE), leaver, ...this.#clients.keys()];
    if (random.chance(0.35)) await this.#orderAs(random.pick([...strangers, ...guests]));
    else await this.#visitAs(random.pick(random.chance(0.4) ? strangers : guests));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }

  /** Without a session. */
  async #orderAs(as: string): Promise<void> {
    const { random } = this.#worker;
    const area = this.#someArea();
    const key = `${area}0`;
    const f = random.pick(["inspect", "list", "set-limit", "revoke", ...RIGHTS] as const);
    const isOfKey = f === "inspect" || f === "revoke";
    const named = f === "set-limit" ? { key: limitKeyOf(area) } : isOfKey ? { key } : {};
    const credential = `${as} again`;
    const value = {
      grant: { value: { identity: identityOf(as), prefix: "", level: "admin" } },
      "put-credential": { value: { identity: "admin", credential } },
    };
    const operation = { f, as, ...named, ...(isRight(f) ? value[f] : {}) };
    await this.#record(operation, undefined, async () => {
      await using admin = await reached(this.#worker.connectAdmin(this.#tokenOf(as)));
      return await order(admin, f, { key, limited: limitKeyOf(area), as, credential });
    });
  }

  async #visitAs(as: string): Promise<void> {
    const { random } = this.#worker;
    const client = this.#clients.get(as) ?? (await this.#open(as));
    if (client === undefined) return;
    const area = this.#someArea();
    const key = `${area}${random.below(this.#worker.keys.length)}`;
    const choice = random.next();
    if (choice < 0.6) {
      await this.#lock(as, client, key);
    } else if (choice < 0.7) {
      const limited = limitKeyOf(area);
      await this.#record({ f: "set-limit", key: limited, as }, client, async () => {
        await client.setLimit(limited, random.integer(1, 9));
      });
    } else if (choice < 0.8) {
      const { session } = this.#worker.client;
      if (session === 0) return;
      await this.#record({ f: "end-session", as }, client, () => client.endSession(session));
    } else if (choice < 0.9) {
      await this.#record({ f: "list", as }, client, () => listed(client));
    } else {
      await this.#record({ f: "revoke", key, as }, client, async () => {
        await client.revoke({ key }, { now: true });
      });
    }
    if (!client.closed.aborted) return;
    this.#clients.delete(as);
  }

  async #open(as: string): Promise<Client | undefined> {
    const token = this.#tokenOf(as);
    const client = await this.#worker.record(
      { f: "open", as, session: 0 },
      () => reached(this.#worker.connect({ token })),
      () => undefined,
    );
    if (client !== undefined) this.#clients.set(as, client);
    return client;
  }

  async #lock(as: string, client: Client, key: string): Promise<void> {
    const { ttlMs, random } = this.#worker;
    const waitMs = random.pick([0, 500]);
    const lock = await this.#record(
      { f: "acquire", key, as, value: { waitMs, ttlMs } },
      client,
      () => client.acquire(key, { waitMs }),
      (granted) => grantOf(this.#worker, granted),
    );
    if (lock === undefined) return;
    await this.#worker.sleep(random.integer(0, 20));
    const { token } = lock;
    await this.#record({ f: "release", key, as, value: { token } }, client, async () => {
      const result = await lock.release();
      if (result.released || result.reason === "released") return result;
      // The client itself says so; no answer of the cluster does.
      throw unknown(`not released: ${result.reason}`);
    });
  }

  #record<T>(
    operation: Operation,
    client: Client | undefined,
    act: () => Promise<T>,
    resultOf?: (result: T) => unknown,
  ): Promise<T | undefined> {
    const acting = async () => {
      try {
        return await act();
      } catch (error) {
        // The refusal of its session is none of this command.
        if (client?.closed.aborted === true) throw unknown("the client was closed");
        throw error;
      }
    };
    const session = client?.session ?? 0;
    return this.#worker.record({ ...operation, session }, acting, resultOf);
  }

  #someArea(): string {
    const { random, keyring } = this.#worker;
    const identity = random.pick([...LOCK_IDENTITIES, FICKLE, FICKLE, LEAVER, LEAVER]);
    return areaOf(identity, keyring.areas[identity] ?? 1);
  }

  #tokenOf(as: string): string | undefined {
    if (as === ANONYMOUS) return undefined;
    return as === FORGED ? FORGED_TOKEN : this.#worker.keyring.tokens[as];
  }
}

type Right = (typeof RIGHTS)[number];
type Order = "inspect" | "list" | "set-limit" | "revoke" | Right;

interface OrderParts {
  readonly key: string;
  readonly limited: string;
  readonly as: string;
  readonly credential: string;
}

/** Resolves to what is recorded of its result. */
async function order(admin: Admin, f: Order, { key, limited, as, credential }: OrderParts) {
  switch (f) {
    case "inspect":
      return holdsOf(admin, key);
    case "list":
      return listed(admin);
    case "set-limit":
      return admin.setLimit(limited, 5);
    case "revoke": {
      // The SDK asks for no revoke of a key that is not held: it has read the key before.
      const { revoked, opened } = await admin.revoke({ key }, { now: true });
      if (revoked + opened === 0) throw new HoldfastError("NOT_HELD", `${key} was not held`);
      return undefined;
    }
    case "grant":
      return admin.access.grant(identityOf(as), "admin", { prefix: "" });
    case "put-credential":
      await admin.access.createToken("admin", { label: credential });
      return undefined;
  }
}

function isRight(f: Order): f is Right {
  return RIGHTS.some((right) => right === f);
}

/** For nobody, it tries to make `anonymous` an admin. */
function identityOf(as: string): string {
  const [identity = ANONYMOUS] = as.split("/");
  return identity === FORGED ? ANONYMOUS : identity;
}

/** Without a connection nothing was asked, so nothing can have happened. */
async function reached<T>(connecting: Promise<T>): Promise<T> {
  try {
    return await connecting;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    throw new HoldfastError(error.code, error.message, { details: { indeterminate: false } });
  }
}

function unknown(message: string): HoldfastError {
  return new HoldfastError("UNAVAILABLE", message, { details: { indeterminate: true } });
}
