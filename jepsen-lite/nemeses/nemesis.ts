/**
 * What a nemesis is: one kind of trouble that can be begun and ended. A nemesis of one's own is a
 * module that exports one of these as `nemesis`; `docs/jepsen-lite.md` shows how. It decides by
 * `random` alone, so that a seed repeats its decisions.
 */
import type { RandomStream } from "../../lab/random-stream.js";
import type { ClientProcess } from "../clients/client-process.js";
import type { Network } from "../cluster/network.js";
import type { NodeProcess } from "../cluster/node-process.js";
import type { Admin } from "../sdk.js";

export interface Nemesis {
  /** Lower-case words with hyphens. */
  readonly name: string;
  /** One line for `--help` and the report. */
  readonly about: string;
  /** It asks nothing of Holdfast itself, so that peers can meet it too; default: it may. */
  readonly isForPeers?: boolean;
  /**
   * Why it cannot be done on this machine, in one line; asked before anything is started. A nemesis
   * that was asked for and cannot be done ends the run.
   */
  refusal?(setting: NemesisSetting): Promise<string | undefined>;
  /** Begins the trouble. Resolves when it is there. */
  begin(target: Target, random: RandomStream): Promise<Fault>;
}

/** What is known before a cluster is there. */
export interface NemesisSetting {
  readonly nodes: number;
  readonly network: "proxies" | "namespaces";
}

/** Trouble that is there. */
export interface Fault {
  /** What was done to whom, for people: `kill -9 of node 2, the leader`. */
  readonly what: string;
  /** Of trouble with a file: its kind, and all kinds that were there to choose from. */
  readonly file?: HarmedFile;
  /** Ends it: everything that this fault changed is as before. Called once. */
  end(): Promise<void>;
}

/** `log/N.seg` is every segment of the log; `everything` is the whole directory. */
export interface HarmedFile {
  readonly kind: string;
  readonly kinds: readonly string[];
}

/** What can be attacked. */
export interface Target {
  readonly nodes: readonly NodeProcess[];
  /** The client processes as they are now; a killed one is replaced. */
  readonly clients: readonly ClientProcess[];
  readonly network: Network;
  readonly ttlMs: number;
  /** Aborted when the run is to end: whoever waits stops waiting. */
  readonly signal: AbortSignal;
  /** The node that led last, as far as was seen. */
  readonly leaderId: number | undefined;
  /** Fewer than half of the nodes. */
  readonly minority: number;
  /** The next client that is told that it holds something, or nobody within so long. */
  nextHolder(milliseconds: number): Promise<ClientProcess | undefined>;
  /** Kills the client and starts another one in its place. */
  replaceClient(client: ClientProcess): Promise<void>;
  /** Asks the cluster something; `undefined` when it could not be asked, or refused. Not of peers. */
  admin<T>(work: (admin: Admin) => Promise<T>): Promise<T | undefined>;
  /** File systems of limited size, where this machine allows them. */
  readonly volumes: readonly Volume[];
  /**
   * Takes a node whose disk may be harmed, or `undefined` while as many as may be are harmed
   * already; to be given back, by the function returned, when it is as good as new.
   */
  reserve(id: number): (() => void) | undefined;
}

/** A file system of limited size that holds the data of one node. */
export interface Volume {
  readonly nodeId: number;
  readonly directory: string;
}
