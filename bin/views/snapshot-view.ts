/**
 * Saved snapshots for people and scripts: the contents of one, and what to do after a restore.
 * Addresses and versions in a file come from others, so they are never written to the terminal
 * unescaped.
 */
import type { ClusterSnapshot } from "../../src/index.js";
import type { RestoredNode, SnapshotContents } from "../../src/server/index.js";
import { printable } from "../../src/text/index.js";
import { nodesText } from "../../src/views/index.js";
import type { NodeAddress } from "../text/addresses.js";
import { formatDuration } from "../text/durations.js";
import { roughSize } from "../text/sizes.js";
import { serverCommand } from "./member-view.js";

export interface RestorePlan {
  readonly id: number;
  readonly data: string;
  readonly initialCluster: readonly NodeAddress[];
}

type Document = Readonly<Record<string, unknown>>;

export function savedDocument(file: string, bytes: number, snapshot: ClusterSnapshot): Document {
  const { clusterId, nodeId, index, term, checksum, wallMs } = snapshot;
  return { file, bytes, clusterId, nodeId, index, term, checksum, savedAt: timeText(wallMs) };
}

export function savedText(file: string, bytes: number, snapshot: ClusterSnapshot): string {
  const { clusterId, nodeId, index } = snapshot;
  const what = `entry ${index} of cluster ${clusterId}, from node ${nodeId}`;
  return `${printable(file)}: ${roughSize(bytes)}, ${what}`;
}

export function contentsDocument(file: string, contents: SnapshotContents): Document {
  const { savedWallMs, members, settings, leaseMsMax, quietMs, ...told } = contents;
  return {
    file,
    ...told,
    savedAt: timeText(savedWallMs),
    longestLeaseMs: leaseMsMax,
    quietMs,
    members,
    settings: Object.fromEntries(settings.map(({ name, value }) => [name, value])),
    isIntact: true,
  };
}

export function contentsLines(contents: SnapshotContents, nowMs: number): string[] {
  const { clusterId, nodeId, version, savedWallMs, index, term, checksum, bytes } = contents;
  const { members, stamp, sessions, keys, holds, waiters, cooldowns, leaseMsMax } = contents;
  const { leases, endlessLeases } = contents;
  const rows: [string, string][] = [
    ["cluster", clusterId],
    ["saved", `${timeText(savedWallMs)} (${ageText(nowMs - savedWallMs)})`],
    ["by", `node ${nodeId}, holdfast ${printable(version)}`],
    ["entry", `${index} of term ${term}`],
    ["cluster time", `${formatDuration(stamp)}`],
    ...members.map(({ id, role, address }): [string, string] => [
      `node ${id}`,
      `${role}, ${printable(address)}`,
    ]),
    [
      "sessions",
      leaseMsMax === 0 ? "0" : `${sessions}, leases up to ${formatDuration(leaseMsMax)}`,
    ],
    ["locks in use", `${keys}; holds ${holds}, waiters ${waiters}, cooldowns ${cooldowns}`],
    ["leases", endlessLeases === 0 ? String(leases) : `${leases}, ${endlessLeases} without end`],
    ["next fencing token", String(contents.nextToken)],
    ["settings", changedText(contents)],
    ["size", roughSize(bytes)],
    ["checksum", checksum],
    ["digest", "ok"],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
}

export function restoredDocument(plan: RestorePlan, restored: RestoredNode): Document {
  const { id, data } = plan;
  const { clusterId, index, quietMs, tokenFloor, contents } = restored;
  return {
    id,
    data,
    clusterId,
    from: contents.clusterId,
    index,
    quietMs,
    longLeases: restored.longLeases.count,
    longLeasesClosedMs: restored.longLeases.closedMs,
    tokenFloor,
    start: startOf(plan),
  };
}

export function restoredLines(plan: RestorePlan, restored: RestoredNode, nowMs: number): string[] {
  const { id, data, initialCluster } = plan;
  const { contents, clusterId, tokenFloor } = restored;
  const others = initialCluster.filter((member) => member.id !== id);
  const saved = `${timeText(contents.savedWallMs)} (${ageText(nowMs - contents.savedWallMs)})`;
  const lines = [
    `${printable(data)} is the data directory of node ${id} of the new cluster ${clusterId}`,
    `from cluster ${contents.clusterId}, entry ${contents.index}, saved ${saved}`,
    `ended: sessions ${contents.sessions}, holds ${contents.holds}, waiters ${contents.waiters}`,
    `fencing tokens: above ${tokenFloor - 1}`,
    ...waitLines(restored),
    "",
  ];
  if (others.length > 0) {
    const nodes = nodesText(others.map((member) => member.id));
    lines.push(
      `Do the same for ${nodes}: with the same file, and the same options except --id and --data.`,
    );
  }
  lines.push("Make sure that no node of the old cluster runs. Then start this one:");
  lines.push("", `  ${startOf(plan).map(printable).join(" ")}`);
  return lines;
}

/** How long the new cluster waits, and why. */
function waitLines({ quietMs, longLeases, contents }: RestoredNode): string[] {
  if (quietMs === 0) return ["sessions are opened at once: --old-leases-are-over was given"];
  const lines = [
    `no session is opened until there has been a leader for ${formatDuration(quietMs)}: clients of ` +
      "the old cluster may rely on their leases for so long",
  ];
  const { count, closedMs } = longLeases;
  if (count > 0) {
    const whose = count === 1 ? "1 lease of a named owner" : `${count} leases of named owners`;
    lines.push(
      `the keys of ${whose} in the file cool down for up to ${formatDuration(closedMs)}: the ` +
        "owner may rely on it for so long (holdfast revoke KEY opens one)",
    );
  }
  const mostMs = contents.settings.find(({ name }) => name === "leaseTtlMsMax")?.value ?? 0;
  if (mostMs > quietMs) {
    lines.push(
      `longer leases that were taken after the file was saved are not known: if there may be any (up ` +
        `to ${formatDuration(mostMs)}, the setting leaseTtlMsMax), restore with a longer --quiet-time`,
    );
  }
  return lines;
}

function startOf({ id, data, initialCluster }: RestorePlan): string[] {
  const self = initialCluster.find((member) => member.id === id);
  return self === undefined ? [] : serverCommand(id, data, self.address);
}

function changedText({ settings }: SnapshotContents): string {
  const changed = settings.filter(({ value, defaultValue }) => value !== defaultValue);
  if (changed.length === 0) return "all at their defaults";
  return changed.map(({ name, value }) => `${name} ${value}`).join(", ");
}

function timeText(wallMs: number): string {
  const isTime = wallMs <= 8.64e15;
  return isTime ? new Date(wallMs).toISOString() : String(wallMs);
}

function ageText(ageMs: number): string {
  return ageMs < 0
    ? `${formatDuration(-ageMs)} ahead of this clock`
    : `${formatDuration(ageMs)} ago`;
}
