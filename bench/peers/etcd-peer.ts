/** Three etcd members, each with its defaults: every write is synced on a majority. */
import { join } from "node:path";
import { freePorts } from "../../lab/free-ports.js";
import { ETCD, etcdArguments, fileOf, lackOf } from "../../lab/peer-servers.js";
import { connectEtcd, openEtcd } from "./etcd-locks.js";
import type { PeerKind, RunningPeer } from "./peer.js";
import { RunningServers } from "./running-servers.js";

const MEMBERS = 3;
const SYNCS = /^etcd_disk_wal_fsync_duration_seconds_count (\S+)$/m;
const ANSWER_MS_MAX = 5_000;

export const etcd: PeerKind = {
  about: "three members, synced on a majority",
  missing: () => lackOf(ETCD),
  start: async (directory, signal): Promise<RunningPeer> => {
    const command = fileOf(ETCD);
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
    const running = await RunningServers.start(servers, areReady, signal);
    return {
      processes: () => running.processes,
      syncs: () => syncsOf(clientUrls),
      death: running.death,
      connect: (load) => connectEtcd(leaderUrl, load),
      stop: () => running.stop(),
    };
  },
};

function nameOf(index: number): string {
  return `etcd${index + 1}`;
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** `undefined` while there is no leader. Rejects while a member does not answer. */
async function findLeader(urls: readonly string[]): Promise<string | undefined> {
  for (const url of urls) {
    const client = await openEtcd(url);
    try {
      const deadline = Date.now() + ANSWER_MS_MAX;
      const { leader, header } = await client.maintenance.status({ deadline });
      if (leader === header.member_id) return url;
    } finally {
      client.close();
    }
  }
  return undefined;
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
