/**
 * The commands of `holdfast`, each with the file that defines it, which is loaded only when needed,
 * so that a start does not pay for other commands. Help, completion and the reference page are made
 * from this list, so a command that is not here does not exist.
 */
import type { Command } from "commander";
import type { Finish } from "../exit/ending.js";
import { EXIT } from "../exit/exit-codes.js";

/** Defines options and action of a command. The action calls `finish` unless it ends with code 0. */
export type DefineCommand = (command: Command, finish: Finish) => void;

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /**
   * Names that other tools use for it: they are not accepted, but the command is suggested for
   * them.
   */
  readonly otherWords?: readonly string[];
  /** The heading it is listed under. */
  readonly group: string;
  /**
   * The exit codes it may end with in addition to `EVERY_EXIT`: 0, 2, 70 and 128 + n. Ascending.
   */
  readonly exits: readonly number[];
  readonly load: () => Promise<DefineCommand>;
}

/** The exit codes of every command. */
export const EVERY_EXIT: readonly number[] = [EXIT.done, EXIT.usage, EXIT.internal];

const RUNNING = "Running a cluster:";
const USING = "Using locks:";
const SEEING = "Seeing:";
const ACTING = "Acting:";
const OPERATING = "Operating:";
const TOOLS = "Tools:";

const { failed, held, noCluster, refused, lost, altered, timedOut } = EXIT;
const { notStarted, notExecutable, notFound } = EXIT;
const UNDER_LOCK = [
  ...[failed, held, noCluster, refused, lost, timedOut],
  ...[notStarted, notExecutable, notFound],
];

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "cluster",
    summary: "start a local cluster of real processes",
    otherWords: ["start", "up"],
    group: RUNNING,
    exits: [failed, noCluster],
    load: async () => (await import("../commands/running/cluster.js")).defineCluster,
  },
  {
    name: "server",
    summary: "start one node",
    otherWords: ["node", "serve"],
    group: RUNNING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/running/server.js")).defineServer,
  },
  {
    name: "run",
    summary: "run a command while holding a lock",
    otherWords: ["lock", "acquire", "exec", "with"],
    group: USING,
    exits: UNDER_LOCK,
    load: async () => (await import("../commands/locks/run.js")).defineRun,
  },
  {
    name: "elect",
    summary: "lead, alone or while a command runs, or follow the leaders",
    otherWords: ["lead", "campaign"],
    group: USING,
    exits: UNDER_LOCK,
    load: async () => (await import("../commands/locks/elect.js")).defineElect,
  },
  {
    name: "lease",
    summary: "take, extend, release a lock in steps that share no process",
    otherWords: ["take", "renew"],
    group: USING,
    exits: [failed, held, noCluster, refused, lost, timedOut],
    load: async () => (await import("../commands/locks/lease.js")).defineLease,
  },
  {
    name: "ls",
    summary: "list the locks in use",
    otherWords: ["list", "locks"],
    group: SEEING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/seeing/ls.js")).defineLs,
  },
  {
    name: "inspect",
    summary: "show who holds a lock and who waits for it",
    otherWords: ["show", "get", "holder"],
    group: SEEING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/seeing/inspect.js")).defineInspect,
  },
  {
    name: "explain",
    summary: "show why a request waits",
    group: SEEING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/seeing/explain.js")).defineExplain,
  },
  {
    name: "history",
    summary: "show who held a lock, for how long, and why it ended",
    otherWords: ["log"],
    group: SEEING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/seeing/history.js")).defineHistory,
  },
  {
    name: "watch",
    summary: "follow the changes of a lock, or of all with a prefix",
    otherWords: ["follow", "tail"],
    group: SEEING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/seeing/watch.js")).defineWatch,
  },
  {
    name: "top",
    summary: "show locks and nodes live, in a terminal",
    otherWords: ["monitor", "dash"],
    group: SEEING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/seeing/top.js")).defineTop,
  },
  {
    name: "graph",
    summary: "show who waits for whom",
    group: SEEING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/seeing/graph.js")).defineGraph,
  },
  {
    name: "revoke",
    summary: "take a lock away from its holders",
    otherWords: ["release", "unlock", "steal"],
    group: ACTING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/acting/revoke.js")).defineRevoke,
  },
  {
    name: "session",
    summary: "list the sessions of clients, and end one",
    otherWords: ["sessions", "client", "clients"],
    group: ACTING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/acting/session.js")).defineSession,
  },
  {
    name: "limit",
    summary: "set how many permits a semaphore has",
    otherWords: ["semaphore"],
    group: ACTING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/acting/limit.js")).defineLimit,
  },
  {
    name: "dashboard",
    summary: "open the dashboard of the cluster in a browser",
    otherWords: ["ui", "web"],
    group: SEEING,
    exits: [failed, noCluster],
    load: async () => (await import("../commands/seeing/dashboard.js")).defineDashboard,
  },
  {
    name: "status",
    summary: "show the nodes of the cluster",
    otherWords: ["health", "info"],
    group: OPERATING,
    exits: [failed, noCluster],
    load: async () => (await import("../commands/operating/status.js")).defineStatus,
  },
  {
    name: "member",
    summary: "show, add, promote, demote and remove nodes of the cluster",
    otherWords: ["members", "nodes"],
    group: OPERATING,
    exits: [failed, noCluster, refused, timedOut],
    load: async () => (await import("../commands/operating/member.js")).defineMember,
  },
  {
    name: "transfer",
    summary: "hand leadership to another node",
    otherWords: ["leader"],
    group: OPERATING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/operating/transfer.js")).defineTransfer,
  },
  {
    name: "settings",
    summary: "show and change the settings of the whole cluster",
    group: OPERATING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/operating/settings.js")).defineSettings,
  },
  {
    name: "snapshot",
    summary: "save a cluster, show a saved one, make a new cluster from it",
    otherWords: ["backup", "save", "restore"],
    group: OPERATING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/operating/snapshot.js")).defineSnapshot,
  },
  {
    name: "log-level",
    summary: "show how much each node logs, or change it for a while",
    otherWords: ["debug", "verbose", "loglevel"],
    group: OPERATING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/operating/log-level.js")).defineLogLevel,
  },
  {
    name: "recover",
    summary: "recover a node whose data are damaged or lost",
    group: OPERATING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/operating/recover.js")).defineRecover,
  },
  {
    name: "access",
    summary: "show and change who may do what",
    otherWords: ["acl", "auth", "identity", "grant", "user", "token"],
    group: OPERATING,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/operating/access.js")).defineAccess,
  },
  {
    name: "audit",
    summary: "show and check who held what and who did what",
    otherWords: ["trail"],
    group: OPERATING,
    exits: [failed, noCluster, refused, altered],
    load: async () => (await import("../commands/operating/audit.js")).defineAudit,
  },
  {
    name: "cert",
    summary: "make and show a CA and certificates for nodes and clients",
    otherWords: ["certificate", "certificates", "certs", "tls"],
    group: OPERATING,
    exits: [failed],
    load: async () => (await import("../commands/operating/cert.js")).defineCert,
  },
  {
    name: "config",
    summary: "show the configuration, and where each value came from",
    group: OPERATING,
    exits: [],
    load: async () => (await import("../commands/operating/config.js")).defineConfig,
  },
  {
    name: "redis",
    summary: "say whether the Redis port serves lock scripts",
    otherWords: ["lua", "script"],
    group: TOOLS,
    exits: [failed, refused],
    load: async () => (await import("../commands/tools/redis.js")).defineRedis,
  },
  {
    name: "bench",
    summary: "measure how fast a cluster grants locks",
    group: TOOLS,
    exits: [failed, noCluster, refused],
    load: async () => (await import("../commands/tools/bench.js")).defineBench,
  },
  {
    name: "completion",
    summary: "print a script by which a shell completes commands and flags",
    group: TOOLS,
    exits: [failed],
    load: async () => (await import("../commands/tools/completion.js")).defineCompletion,
  },
];
