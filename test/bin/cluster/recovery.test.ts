import { describe, expect, it } from "vitest";
import {
  type Recovery,
  type RecoveryPlan,
  type RecoverySteps,
  recoverFromCluster,
} from "../../../bin/cluster/recovery.js";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { Failure } from "../../../bin/exit/failure.js";
import { ADMIN_DEFAULTS, type Admin, connectAdminOn } from "../../../src/client/index.js";
import { HoldfastError } from "../../../src/errors/index.js";
import { failure, rejection, setUp } from "../../client/world/set-up.js";
import { SimulatedPlatform } from "../../client/world/simulated-platform.js";
import type { SimulatedWorld } from "../../client/world/simulated-world.js";
import type { TableServer } from "../../client/world/table-server.js";

type Finding = Awaited<ReturnType<RecoverySteps["examine"]>>;

const DAMAGED: Finding = {
  problem: "n3/log/7.seg: wrong checksum at byte 4096",
  clusterId: undefined,
};

class Scene {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  readonly admin: Admin;
  readonly told: string[] = [];
  finding: Finding = DAMAGED;
  /** What was asked of the directory once the cluster had agreed. */
  readonly recovered: Parameters<RecoverySteps["recover"]>[0][] = [];
  /** The role of the node at the moment its directory was touched. */
  roleWhenTouched: string | undefined;

  constructor(world: SimulatedWorld, server: TableServer, admin: Admin) {
    this.world = world;
    this.server = server;
    this.admin = admin;
  }

  recover(plan: Partial<RecoveryPlan> = {}): Promise<Recovery> {
    const steps: RecoverySteps = {
      examine: async () => this.finding,
      recover: async (options) => {
        this.recovered.push(options);
        const { members } = await this.admin.members();
        this.roleWhenTouched = members.find(({ id }) => id === options.id)?.role;
        return { movedTo: "n3/set-aside-1", incarnation: options.incarnationMin + 1 };
      },
    };
    const complete = { id: 3, dataDirectory: "n3", ...plan };
    return recoverFromCluster(this.admin, steps, complete, (line) => this.told.push(line));
  }

  async refusal(plan: Partial<RecoveryPlan> = {}): Promise<unknown> {
    const error = await rejection(this.world, this.recover(plan));
    expect(this.recovered).toEqual([]);
    return error;
  }
}

async function scene(): Promise<Scene> {
  const { world, server } = setUp();
  server.faults.downNodes.add(3);
  const platform = new SimulatedPlatform(world, server);
  const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints };
  const admin = await world.until(connectAdminOn(platform, settings));
  return new Scene(world, server, admin);
}

describe("a recovery", () => {
  it("touches the directory only when the cluster no longer counts on the node", async () => {
    const each = await scene();
    const { finding, wasVoter, recovered } = await each.world.until(each.recover());
    expect(each.roleWhenTouched).toBe("learner");
    expect([finding, wasVoter]).toEqual([DAMAGED, true]);
    expect(recovered).toEqual({ movedTo: "n3/set-aside-1", incarnation: 2 });
    // The incarnation that the others have seen.
    expect(each.recovered).toEqual([
      { id: 3, dataDirectory: "n3", clusterId: each.admin.clusterId, incarnationMin: 1 },
    ]);
    expect(each.told).toEqual([
      "n3: n3/log/7.seg: wrong checksum at byte 4096",
      "the cluster no longer counts on node 3: it is a learner",
    ]);
  });

  it("may be repeated, and of a learner changes nothing in the cluster", async () => {
    const each = await scene();
    await each.world.until(each.recover());
    const { changes } = each.server.members;
    const again = await each.world.until(each.recover());
    expect(again.wasVoter).toBe(false);
    expect(each.server.members.changes).toBe(changes);
    expect(each.recovered).toHaveLength(2);
  });

  it("is made of a directory that is gone, and of one with which nothing wrong can be seen", async () => {
    const each = await scene();
    each.finding = { problem: "it does not exist", clusterId: undefined };
    await each.world.until(each.recover());
    expect(each.told[0]).toBe("n3: it does not exist");
    // An old copy that was put back looks like that.
    each.finding = { problem: undefined, clusterId: each.admin.clusterId };
    await each.world.until(each.recover());
    expect(each.told[2]).toBe("n3: nothing wrong is visible");
    expect(each.recovered).toHaveLength(2);
  });

  it("is refused for a directory of another cluster", async () => {
    const each = await scene();
    each.finding = { ...DAMAGED, clusterId: "ffff" };
    const error = (await each.refusal()) as Failure;
    expect(error.exitCode).toBe(EXIT.usage);
    expect(error.message).toContain("belongs to another cluster (ffff, not ");
    expect(each.server.members.asked).toEqual([]);
  });

  it("is refused for a node that is not a member, and for one that leads", async () => {
    const each = await scene();
    const stranger = (await each.refusal({ id: 9 })) as Failure;
    expect(stranger.exitCode).toBe(EXIT.refused);
    expect(stranger.message).toMatch(/^node 9 is not a member of the cluster \(1, 2, 3\)/);
    const leader = (await each.refusal({ id: 1 })) as Failure;
    expect(leader.exitCode).toBe(EXIT.refused);
    expect(leader.message).toMatch(/^node 1 leads the cluster/);
  });

  it("leaves everything as it is when the others cannot spare the node, or nobody leads", async () => {
    const each = await scene();
    each.server.faults.downNodes.delete(3);
    each.server.faults.downNodes.add(2);
    expect(await each.refusal()).toMatchObject({ code: "FORBIDDEN" });
    each.server.faults.isLeaderless = true;
    expect(await each.refusal()).toMatchObject({ code: "UNAVAILABLE" });
  });

  it("asks the cluster nothing when the directory cannot be used", async () => {
    const each = await scene();
    const inUse = new HoldfastError("UNAVAILABLE", "it is in use by another process");
    const steps: RecoverySteps = {
      examine: () => Promise.reject(inUse),
      recover: () => Promise.reject(new Failure(EXIT.internal, "touched")),
    };
    const plan = { id: 3, dataDirectory: "n3" };
    const recovering = recoverFromCluster(each.admin, steps, plan, () => undefined);
    expect(await failure(each.world, recovering)).toBe(inUse);
    expect(each.server.members.asked).toEqual([]);
  });
});
