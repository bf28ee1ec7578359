/** How views reach the cluster. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Admin, GrantLevel } from "../../src/index.js";
import { useStore } from "../state/store.js";
import type { Cluster, ClusterState } from "./cluster.js";
import { type Target, whyNot } from "./rights.js";

export const ClusterContext = createContext<Cluster | undefined>(undefined);

export interface ConnectedCluster extends ClusterState {
  /** Reads only. Another object after each change of the node. */
  readonly admin: Admin;
  /** Runs `act` with a connection that may change things, and ends it. Rejects as `act` does. */
  act<Result>(act: (admin: Admin) => Promise<Result>): Promise<Result>;
  /** Why the viewer may not do this; `undefined` if they may. */
  whyNot(level: GrantLevel, target: Target): string | undefined;
  readonly connection: Cluster;
}

export function useConnection(): Cluster {
  const cluster = useContext(ClusterContext);
  if (cluster === undefined) throw new Error("no cluster around this part of the page");
  return cluster;
}

/** For views, which exist only while the page is connected. */
export function useCluster(): ConnectedCluster {
  const connection = useConnection();
  const state = useStore(connection.state);
  const { admin, viewer } = state;
  if (admin === undefined) throw new Error("a view is drawn only while the page is connected");
  return {
    ...state,
    admin,
    act: (act) => connection.act(act),
    whyNot: (level, target) => whyNot(viewer, level, target),
    connection,
  };
}
