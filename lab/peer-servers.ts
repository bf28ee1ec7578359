/**
 * The servers of other systems that bench measures and jepsen-lite attacks: whether this machine
 * has them, and their command lines. The two have locks of their own on these servers. The locks of
 * bench are the fastest that the system offers and fail at the first error; the locks of
 * jepsen-lite repeat a request and record whether it may have been executed. This file must not
 * decide anything that differs between the two.
 */
import { findCommand } from "./find-command.js";

export interface PeerProgram {
  readonly name: string;
  /** The message on a machine that does not have it. */
  readonly missing: string;
}

export const ETCD: PeerProgram = {
  name: "etcd",
  missing: "etcd is not installed (Debian: apt-get install etcd-server)",
};

export const REDIS: PeerProgram = {
  name: "redis-server",
  missing: "redis-server is not installed (Debian: apt-get install redis-server)",
};

/** The reason why it cannot be started here; `undefined` if it can. */
export function lackOf({ name, missing }: PeerProgram): string | undefined {
  return findCommand(name) === undefined ? missing : undefined;
}

/**
 * The path of the program.
 * @throws when this machine does not have it
 */
export function fileOf({ name, missing }: PeerProgram): string {
  const file = findCommand(name);
  if (file === undefined) throw new Error(missing);
  return file;
}

export interface EtcdMember {
  readonly name: string;
  readonly dataDirectory: string;
  readonly clientUrl: string;
  /** The URL on which it listens for the other members; by default the one they use. */
  readonly peerListenUrl?: string;
  readonly logLevel: "warn" | "error";
}

/**
 * @param peerUrls the URL at which the other members reach each member, by its name
 */
export function etcdArguments(
  { name, dataDirectory, clientUrl, peerListenUrl, logLevel }: EtcdMember,
  peerUrls: ReadonlyMap<string, string>,
): string[] {
  const peerUrl = peerUrls.get(name);
  const members = [...peerUrls].map(([each, url]) => `${each}=${url}`);
  return [
    `--name=${name}`,
    `--data-dir=${dataDirectory}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerListenUrl ?? peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=${members.join(",")}`,
    "--initial-cluster-state=new",
    "--logger=zap",
    `--log-level=${logLevel}`,
  ];
}

/** The command line for settings of the configuration file, by name. */
export function redisArguments(settings: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
}
