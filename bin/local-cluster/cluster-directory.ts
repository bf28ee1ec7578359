/**
 * The directory of a local cluster: one folder and one log file for each node, and a note of how
 * the cluster was made. Its name and the peer addresses of all nodes are its identity, so the first
 * start fixes them, and later starts take them from the note. The name is random: a name that
 * others could compute could be used by a web page to talk to the peer ports of every developer.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../exit/failure.js";
import { adviceOn, directoryReason } from "../exit/start-failure.js";
import { type ClusterPlan, NODES_MAX, PORT_MAX } from "./cluster-plan.js";

const NOTE_FILE = "cluster.json";

const NAME_BYTES = 16;

export interface ClusterNote {
  /** One for each node. */
  readonly peerPorts: readonly number[];
  /** The `--cluster-name` of the nodes. */
  readonly clusterName: string;
}

/** A name that no other cluster has. */
export function drawClusterName(): string {
  return randomBytes(NAME_BYTES).toString("hex");
}

/** How the data in `directory` were made; `undefined` if there are none yet. */
export function noteIn(directory: string): ClusterNote | undefined {
  const file = join(directory, NOTE_FILE);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return undefined;
    throw unusable(directory, error);
  }
  const note = readNote(text);
  if (note !== undefined) return note;
  const expected = '{"peerPorts":[7511,…],"clusterName":"…"}';
  throw new Failure(EXIT.failed, `${file} is damaged: expected ${expected}`);
}

/** Creates the directory, writes the note, and renames the logs of the last run. */
export function prepareDirectory(plan: ClusterPlan): void {
  const { directory, clusterName } = plan;
  const peerPorts = plan.nodes.map(({ peerListen }) => peerListen.port);
  const note = join(directory, NOTE_FILE);
  try {
    makeDirectory(directory);
    // Written and then renamed, so that after a crash there is either the old note or the new one.
    const temporary = `${note}.${process.pid}`;
    writeFileSync(temporary, `${JSON.stringify({ peerPorts, clusterName })}\n`);
    renameSync(temporary, note);
    for (const { logFile } of plan.nodes) putAside(logFile);
  } catch (error) {
    throw unusable(directory, error);
  }
}

function readNote(text: string): ClusterNote | undefined {
  let note: unknown;
  try {
    note = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof note !== "object" || note === null) return undefined;
  const { peerPorts, clusterName } = note as Record<string, unknown>;
  if (!Array.isArray(peerPorts) || typeof clusterName !== "string" || clusterName === "") {
    return undefined;
  }
  const ports = peerPorts.filter((port) => Number.isInteger(port) && port > 0 && port <= PORT_MAX);
  const isWhole = ports.length === peerPorts.length && ports.length >= 1;
  return isWhole && ports.length <= NODES_MAX ? { peerPorts: ports, clusterName } : undefined;
}

/**
 * Parents first. The recursive mode of the platform never returns in file systems that refuse a
 * name with ENOENT, as /proc does.
 */
function makeDirectory(path: string): void {
  if (isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  mkdirSync(path);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function putAside(logFile: string): void {
  try {
    renameSync(logFile, `${logFile}.previous`);
  } catch (error) {
    if (systemCodeOf(error) !== "ENOENT") throw error;
    rmSync(`${logFile}.previous`, { force: true });
  }
}

function unusable(directory: string, error: unknown): Failure {
  const reason = directoryReason(error) ?? String(error);
  const message = `the directory ${directory} cannot be used: ${reason}${adviceOn(error)}`;
  return new Failure(EXIT.failed, message, { cause: error });
}
