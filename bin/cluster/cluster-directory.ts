/**
 * The directory of a local cluster: one folder and one log file for each node, and a note of the
 * members it was made for. The peer addresses of all nodes are the cluster's identity, so their
 * number and their ports are fixed by the first start and taken from the note after that.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { EXIT } from "../exit-codes.js";
import { Failure, systemCodeOf } from "../failure.js";
import { directoryReason } from "../start-failure.js";
import { type ClusterPlan, NODES_MAX, PORT_MAX } from "./cluster-plan.js";

const NOTE_FILE = "cluster.json";

/** The peer port of each node whose data is in `directory`; `undefined` when there is none yet. */
export function peerPortsOf(directory: string): readonly number[] | undefined {
  const file = join(directory, NOTE_FILE);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return undefined;
    throw unusable(directory, error);
  }
  const ports = peerPortsOfNote(text);
  if (ports !== undefined) return ports;
  throw new Failure(EXIT.failed, `${file} is damaged: expected {"peerPorts":[7511,…]}`);
}

/** Makes the directory, notes the members, and puts the logs of the last run aside. */
export function prepareDirectory(plan: ClusterPlan): void {
  const { directory } = plan;
  const peerPorts = plan.nodes.map(({ peerListen }) => peerListen.port);
  const note = join(directory, NOTE_FILE);
  try {
    makeDirectory(directory);
    // Written and moved, so that a crash leaves the old note or the new one.
    const temporary = `${note}.${process.pid}`;
    writeFileSync(temporary, `${JSON.stringify({ peerPorts })}\n`);
    renameSync(temporary, note);
    for (const { logFile } of plan.nodes) putAside(logFile);
  } catch (error) {
    throw unusable(directory, error);
  }
}

function peerPortsOfNote(text: string): number[] | undefined {
  let note: unknown;
  try {
    note = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof note !== "object" || note === null || !("peerPorts" in note)) return undefined;
  const { peerPorts } = note;
  if (!Array.isArray(peerPorts)) return undefined;
  const ports = peerPorts.filter((port) => Number.isInteger(port) && port > 0 && port <= PORT_MAX);
  const isWhole = ports.length === peerPorts.length && ports.length >= 1;
  return isWhole && ports.length <= NODES_MAX ? ports : undefined;
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
  return new Failure(EXIT.failed, `the directory ${directory} cannot be used: ${reason}`, {
    cause: error,
  });
}
