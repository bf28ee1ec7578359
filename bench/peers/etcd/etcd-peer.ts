/**
 * Three etcd members, each with its defaults: every write is synced on a majority. Servers and load
 * program are built from the Go modules of `go.mod`, in the newest version when that was written.
 */
import { join } from "node:path";
import { freePorts } from "../../../lab/free-ports.js";
import { etcdArguments } from "../../../lab/peer-servers.js";
import { type Making, runTool } from "../../programs/cached-folder.js";
import { goPrograms, lackOfGo } from "../../programs/go-programs.js";
import { CLOSED_LOOPS_ONLY, LoadProgram } from "../load-program.js";
import type { PeerKind, RunningPeer } from "../peer.js";
import { RunningServers } from "../running-servers.js";

const SOURCES = "peers/etcd";
const MEMBERS = 3;
const SYNCS = /^etcd_disk_wal_fsync_duration_seconds_count (\S+)$/m;
const ANSWER_MS_MAX = 5_000;

export const etcd: PeerKind = {
  about: "three members, synced on a majority",
  missing: () => lackOfGo(SOURCES),
  closedLoopsOnly: CLOSED_LOOPS_ONLY,
  prepare: async (making) => {
    await programs(making);
  },
  start: async (directory, signal): Promise<RunningPeer> => {
    const folder = await programs({ signal, onNote: () => undefined });
    const command = join(folder, "server");
    const ports = await freePorts(2 * MEMBERS);
    const clientUrls = ports.slice(0, MEMBERS).map(urlOf);
    const peerUrls = new Map(
      ports.slice(MEMBERS).map((port, index) => [nameOf(index), urlOf(port)]),
    );
    const servers = Object.fromEntries(
      clientUrls.map((clientUrl, index) => {
        const home = join(directory, `${index + 1}`);
        const name = nameOf(index);
        const member = {
          name,
          dataDirectory: join(home, "data"),
          clientUrl,
          logLevel: "error",
        } as const;
        const flags = etcdArguments(member, peerUrls);
        return [name, { command, arguments: flags, directory: home }];
      }),
    );
    let leaderUrl = "";
    const areReady = async () => {
      leaderUrl = (await findLeader(clientUrls)) ?? "";
      return leaderUrl !== "";
    };
    const version = /etcd Version: (\S+)/.exec(await runTool(command, ["--version"], { signal }));
    const running = await RunningServers.start(servers, areReady, signal);
    return {
      versions: `etcd ${version?.[1]}, its client for Go`,
      processes: () => running.processes,
      syncs: () => syncsOf(clientUrls),
      death: running.death,
      // The leader's address saves every request a hop.
      connect: async (load) => new LoadProgram([join(folder, "load")], [leaderUrl], load),
      stop: () => running.stop(),
    };
  },
};

function programs(making: Making): Promise<string> {
  return goPrograms(SOURCES, "etcd", making);
}

function nameOf(index: number): string {
  return `etcd${index + 1}`;
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** `undefined` while there is no leader. Rejects while a member does not answer. */
async function findLeader(urls: readonly string[]): Promise<string | undefined> {
  for (const url of urls) {
    const { leader, header } = await statusOf(url);
    if (leader !== undefined && leader === header.member_id) return url;
  }
  return undefined;
}

interface MemberStatus {
  readonly leader?: string;
  readonly header: { readonly member_id: string };
}

async function statusOf(url: string): Promise<MemberStatus> {
  const response = await fetch(`${url}/v3/maintenance/status`, {
    method: "POST",
    body: "{}",
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return (await response.json()) as MemberStatus;
}

async function syncsOf(urls: readonly string[]): Promise<number | undefined> {
  const counts = await Promise.all(
    urls.map(async (url) => {
      const response = await fetch(`${url}/metrics`, {
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      });
      return Number(SYNCS.exec(await response.text())?.[1]);
    }),
  );
  const total = counts.reduce((sum, each) => sum + each, 0);
  return Number.isFinite(total) ? total : undefined;
}
