/** The clients of the node's doors, as the Redis door uses them: each with the name of its identity. */
import type { Client } from "../../client/index.js";
import type { DoorClients } from "../door-clients.js";
import type { Caller, Callers, HeldClient } from "./ports.js";

export class DoorCallers implements Callers {
  readonly #clients: DoorClients;
  /** Identities do not change while a client lives. */
  readonly #identities = new WeakMap<Client, Promise<string>>();

  constructor(clients: DoorClients) {
    this.#clients = clients;
  }

  async clientOf(caller: Caller): Promise<HeldClient> {
    const borrowed = await this.#clients.borrow({ ...caller, isLocal: false });
    const { client } = borrowed;
    try {
      const identity = await this.#identityOf(client);
      return { client, identity, release: () => borrowed.giveBack() };
    } catch (error) {
      borrowed.giveBack();
      throw error;
    }
  }

  #identityOf(client: Client): Promise<string> {
    const known = this.#identities.get(client);
    if (known !== undefined) return known;
    const asked = client.whoAmI().then(({ name }) => name);
    this.#identities.set(client, asked);
    asked.catch(() => this.#identities.delete(client));
    return asked;
  }
}
