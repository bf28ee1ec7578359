/** The views of the page, in the order of its navigation. */
import type { ComponentType } from "preact";
import { ClusterView } from "./cluster/cluster-view.js";
import { GraphView } from "./graph/graph-view.js";
import { LockView } from "./lock/lock-view.js";
import { LocksView } from "./locks/locks-view.js";
import { SessionsView } from "./sessions/sessions-view.js";
import { TourView } from "./tour/tour-view.js";

export interface ViewProps {
  /** What follows the route in the address, decoded; "" if nothing does. */
  readonly argument: string;
  /** The fields of the address; `setQuery` of the router changes them. */
  readonly query: URLSearchParams;
}

export interface ViewDefinition {
  /** The first part of the address. */
  readonly route: string;
  readonly title: string;
  readonly component: ComponentType<ViewProps>;
  /** Reached from other views only, because it needs an argument. */
  readonly isInner?: boolean;
}

export const VIEWS: readonly ViewDefinition[] = [
  { route: "cluster", title: "Cluster", component: ClusterView },
  { route: "locks", title: "Locks", component: LocksView },
  { route: "lock", title: "Lock", component: LockView, isInner: true },
  { route: "sessions", title: "Sessions", component: SessionsView },
  { route: "graph", title: "Graph", component: GraphView },
  { route: "tour", title: "Tour", component: TourView, isInner: true },
];
