/** An operator of a world's cluster: sends requests and waits for their answers. */
import type { ErrorNumber } from "../../../src/errors/index.js";
import { type MemberAction, type MembersView, OP, STATUS } from "../../../src/protocol/index.js";
import type { TestClient } from "./test-client.js";
import type { World, WorldNode } from "./world.js";

export class Operator {
  readonly client: TestClient;
  readonly #world: World;
  #lastId = 0;

  /** Asks at `node`. */
  constructor(world: World, node: WorldNode) {
    this.#world = world;
    this.client = world.client();
    this.client.connect(node);
  }

  /** Goes to another node. */
  moveTo(node: WorldNode): void {
    this.client.disconnect();
    this.client.connect(node);
  }

  /** Resolves with the status of the answer. */
  async change(action: MemberAction, node: number): Promise<typeof STATUS.ok | ErrorNumber> {
    return this.status(this.ask(action, node));
  }

  /** Asks and does not wait. */
  ask(action: MemberAction, node: number): number {
    this.#lastId += 1;
    const id = this.#lastId;
    const address = action === "add" ? `node-${node}:1` : undefined;
    this.client.operate({ op: OP.changeMember, id, action, node, address });
    return id;
  }

  askTransfer(node: number): number {
    this.#lastId += 1;
    this.client.operate({ op: OP.transfer, id: this.#lastId, node });
    return this.#lastId;
  }

  async status(id: number): Promise<typeof STATUS.ok | ErrorNumber> {
    await this.#world.until(`answer ${id}`, () => this.client.answer(id) !== undefined);
    return this.client.answer(id)?.status as typeof STATUS.ok | ErrorNumber;
  }

  async members(): Promise<MembersView> {
    this.#lastId += 1;
    const id = this.#lastId;
    this.client.operate({ op: OP.members, id });
    await this.status(id);
    return this.client.answer(id)?.payload as MembersView;
  }

  /** Adds `node`, starts it if it does not run, and lets it vote as soon as it has caught up. */
  async admit(node: WorldNode): Promise<void> {
    if ((await this.change("add", node.id)) !== STATUS.ok) throw new Error(`add ${node.id}`);
    if (!node.isRunning) await node.restart();
    for (let attempt = 0; attempt < 100; attempt += 1) {
      if ((await this.change("promote", node.id)) === STATUS.ok) return;
      await this.#world.run(50);
    }
    throw new Error(`node ${node.id} is not promoted`);
  }
}
