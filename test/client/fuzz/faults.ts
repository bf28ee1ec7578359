/** The faults of a run: of the network, the nodes, processes and machines. */
import { isStrong } from "../../../src/protocol/index.js";
import type { TableServer } from "../world/table-server.js";
import type { Process } from "./asked.js";
import type { Fault, Plan } from "./plan.js";

const FAST_MS = [0.2, 2] as const;
const SLOW_MS = [1, 300] as const;

export class Faults {
  readonly #server: TableServer;

  constructor(server: TableServer) {
    this.#server = server;
  }

  /** What fails by chance, all the time. */
  begin({ duplicates, losses, refusals, hardRefusals, isSlow }: Plan): void {
    Object.assign(this.#server.faults, { duplicates, losses, refusals, hardRefusals });
    this.#server.faults.latencyMs = isSlow ? [1, 40] : FAST_MS;
  }

  /** Nothing fails any more. */
  heal(): void {
    const { faults } = this.#server;
    Object.assign(faults, { losses: 0, refusals: 0, hardRefusals: 0, busy: "nothing" });
    faults.cutsBefore = () => false;
    faults.cutsAfter = () => false;
    faults.refusesForGood = () => false;
    faults.isLeaderless = false;
    faults.downNodes.clear();
    faults.latencyMs = FAST_MS;
  }

  /** `process`: to which it happens, where it happens to one. */
  take(fault: Fault, process: Process | undefined): void {
    const { faults, connections } = this.#server;
    switch (fault.type) {
      case "cut":
        process?.platform.connection?.cut();
        return;
      case "blackhole": {
        const connection = process?.platform.connection;
        if (connection !== undefined) connection.isBlackhole = true;
        return;
      }
      case "lose":
        this.#loseNext(fault.before ? "cutsBefore" : "cutsAfter");
        return;
      case "stop":
        process?.platform.stop(fault.isAsleep);
        this.#after(fault.forMs, () => {
          if (process?.isDead === false) process.platform.goOn();
        });
        return;
      case "busy":
        faults.busy = fault.what;
        this.#after(fault.forMs, () => {
          faults.busy = "nothing";
        });
        return;
      case "refuse for good":
        faults.refusesForGood = (command) => {
          if (!isStrong(command)) return false;
          faults.refusesForGood = () => false;
          return true;
        };
        return;
      case "leaderless":
        faults.isLeaderless = true;
        this.#after(fault.forMs, () => {
          faults.isLeaderless = false;
        });
        return;
      case "node down":
        faults.downNodes.add(fault.node);
        for (const each of connections) if (each.nodeId === fault.node) each.cut();
        this.#after(fault.forMs, () => faults.downNodes.delete(fault.node));
        return;
      case "slow":
        faults.latencyMs = SLOW_MS;
        this.#after(fault.forMs, () => {
          faults.latencyMs = FAST_MS;
        });
        return;
      case "wall clock":
        process?.platform.jumpWallClock(fault.byMs);
    }
  }

  #after(forMs: number, undo: () => void): void {
    this.#server.world.after(forMs, undo);
  }

  /** The connection of the process that sends the next command breaks. */
  #loseNext(which: "cutsBefore" | "cutsAfter"): void {
    const { faults } = this.#server;
    faults[which] = (command: { readonly op: number }) => {
      if (!("sequence" in command)) return false;
      faults[which] = () => false;
      return true;
    };
  }
}
