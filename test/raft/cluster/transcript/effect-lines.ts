/**
 * Writes inputs and effects of the core as text, one line each, for transcripts. Whatever
 * decides a rule is always included; bytes, checksums and the epochs of connections are left
 * out. The text must depend on nothing but what it describes.
 */
import type {
  Configuration,
  Effects,
  Entry,
  Message,
  Raft,
  RoleChange,
  Write,
} from "../../../../src/raft/index.js";
import { configurationOf } from "../configurations.js";
import type { SimulatedDisk } from "../simulated-disk.js";

export function routeOf({ from, to }: Message): string {
  return `${from}->${to}`;
}

export function messageText(message: Message): string {
  const start = `${message.type} term ${message.term}`;
  switch (message.type) {
    case "preVote":
    case "vote":
      return `${start}, ${logEndText(message)}${message.isTransfer ? ", transfer" : ""}`;
    case "preVoteReply":
    case "voteReply":
      return `${start}, ${message.granted ? "granted" : "refused"}`;
    case "append":
      return (
        `${start}, prev ${message.prevLogIndex}@${message.prevLogTerm}, ` +
        `${entriesText(message.entries)}, commit ${message.commitIndex}`
      );
    case "appendReply":
      if (message.success) return `${start}, match ${message.matchIndex}`;
      return message.needsSnapshot
        ? `${start}, needs a snapshot after ${message.hintIndex}`
        : `${start}, rejected ${message.rejectedIndex}, hint ${message.hintIndex}@${message.hintTerm}`;
    case "heartbeat":
      return `${start}, commit ${message.commitIndex}, round ${message.round}`;
    case "heartbeatReply":
      return `${start}, round ${message.round}`;
    case "timeoutNow":
      return `${start}, ${logEndText(message)}`;
  }
}

export function roleText({ role, term, leader }: RoleChange): string {
  if (role !== "follower") return `${role} of term ${term}`;
  return leader === 0
    ? `follower of nobody in term ${term}`
    : `follower of ${leader} in term ${term}`;
}

export function configurationText({ voters, outgoing, learners }: Configuration): string {
  const parts = [`voters ${voters.join(" ")}`];
  if (outgoing.length > 0) parts.push(`outgoing ${outgoing.join(" ")}`);
  if (learners.length > 0) parts.push(`learners ${learners.join(" ")}`);
  return parts.join(", ");
}

export function writeText({ seq, hardState, truncateFrom, snapshot, entries }: Write): string {
  const parts: string[] = [];
  if (hardState !== undefined) parts.push(`term ${hardState.term}, vote ${hardState.vote}`);
  if (truncateFrom !== undefined) parts.push(`cut from ${truncateFrom}`);
  if (snapshot !== undefined) {
    const { index, term, isReset, keepFrom } = snapshot;
    parts.push(`snapshot ${index}@${term}${isReset ? " in place of the log" : ""}`);
    if (!isReset) parts.push(`keep from ${keepFrom}`);
  }
  if (entries.length > 0) parts.push(entriesText(entries));
  return `write ${seq}: ${parts.join(", ")}`;
}

/** What a caller is answered, and what it is asked to do besides writing, sending and applying. */
export function answerTexts(effects: Effects): string[] {
  const { accepted, refused, reads, readsRefused, transferEnded, restore } = effects;
  const texts = [
    ...accepted.map(({ id, index, term }) => `accepts request ${id} as ${index}@${term}`),
    ...refused.map(({ id, reason }) => `refuses request ${id}: ${reason}`),
    ...reads.map(({ id, index }) => `answers request ${id} with index ${index}`),
    ...readsRefused.map((id) => `refuses request ${id}`),
    ...effects.snapshotsWanted.map(({ peer }) => `sends ${peer} a snapshot`),
  ];
  if (restore !== undefined) texts.push(`restores snapshot ${restore.index}@${restore.term}`);
  if (transferEnded !== undefined) {
    texts.push(transferEnded.isDone ? "has handed over" : "gives up the transfer");
  }
  return texts;
}

/** Where a running node stands. A log is its terms, first entry first. */
export function statusText(raft: Raft): string {
  const { role, term, vote, leader, commitIndex, baseIndex, baseTerm, lastIndex, peers } = raft;
  const parts = [
    roleText({ role, term, leader }),
    `vote ${vote}`,
    logText(baseIndex, baseTerm, raft.entries(baseIndex + 1, lastIndex)),
    `commit ${commitIndex}`,
  ];
  if (peers.length > 0) {
    parts.push(`match ${peers.map(({ id, matchIndex }) => `${id}:${matchIndex}`).join(" ")}`);
  }
  return parts.join(", ");
}

/** What a node that is down will find. */
export function diskText({ hardState, baseIndex, baseTerm, entries }: SimulatedDisk): string {
  const { term, vote } = hardState;
  return `down, on disk term ${term}, vote ${vote}, ${logText(baseIndex, baseTerm, entries)}`;
}

function logText(baseIndex: number, baseTerm: number, entries: readonly Entry[]): string {
  const base = baseIndex === 0 ? "" : ` after ${baseIndex}@${baseTerm}`;
  const terms = entries.map(({ term }) => ` ${term}`).join("");
  return `log${base}${terms === "" ? " empty" : terms}`;
}

function logEndText(message: { readonly lastLogIndex: number; readonly lastLogTerm: number }) {
  return `last ${message.lastLogIndex}@${message.lastLogTerm}`;
}

function entriesText(entries: readonly Entry[]): string {
  return entries.length === 0 ? "no entries" : `entries ${entries.map(entryText).join(" ")}`;
}

function entryText(entry: Entry): string {
  const position = `${entry.index}@${entry.term}`;
  if (entry.kind === "command") return position;
  if (entry.kind === "noop") return `${position}(noop)`;
  return `${position}(${configurationText(configurationOf(entry))})`;
}
