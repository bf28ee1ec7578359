/**
 * Starts the system under attack: the network, the disks, the nodes. Everything that is made is
 * added to `undo`, newest last, as soon as it exists, so that a start that fails half-way leaves
 * nothing.
 */
import { mkdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { Platter } from "../../lab/platter.js";
import { pacedEnvironment, withPacedClocks, writeRate } from "../clocks/clock-rate.js";
import { NamespacedNetwork, namespacedAddress } from "../cluster/namespaced-network.js";
import { type Network, type NodeAddresses, nodePlace } from "../cluster/network.js";
import { findPorts } from "../cluster/node-ports.js";
import { type NodeEvents, type NodePlan, NodeProcess } from "../cluster/node-process.js";
import { parentDeathPrefix } from "../cluster/parent-death.js";
import { ProxiedNetwork } from "../cluster/proxied-network.js";
import { VOLUME_MEBIBYTES, Volume } from "../cluster/volumes.js";
import type { RunOptions } from "../run/run-options.js";
import type { System, SystemKind } from "../systems/system.js";
import type { Undo } from "./undo.js";

const CLIENT_PORT = 7411;
const PEER_PORT = 7511;
const COMPANION_PORT = 7611;

export async function openNetwork(
  options: RunOptions,
  { hasOnePort, hasOnePeerAddress, hasCompanions = false }: SystemKind,
  undo: Undo,
): Promise<Network> {
  const { clients } = options;
  const ids = Array.from({ length: options.nodes }, (_, index) => index + 1);
  let opening: Promise<Network>;
  if (options.usesNamespaces) {
    const subnet = 1 + (process.pid % 253);
    const nodes = ids.map((id): NodeAddresses => {
      const host = namespacedAddress(subnet, id);
      const companion = hasCompanions ? { companionPort: COMPANION_PORT } : {};
      return { id, host, clientPort: CLIENT_PORT, peerPort: PEER_PORT, ...companion };
    });
    opening = NamespacedNetwork.open({ nodes, clients }, subnet);
  } else {
    const kinds = hasCompanions ? 3 : 2;
    const ports = await findPorts(kinds * options.nodes, options.basePort);
    const nodes = ids.map((id, index): NodeAddresses => {
      const clientPort = ports[index] ?? 0;
      const peerPort = hasOnePort ? clientPort : (ports[options.nodes + index] ?? 0);
      const companionPort = ports[2 * options.nodes + index] ?? 0;
      const companion = hasCompanions ? { companionPort } : {};
      return { id, host: "127.0.0.1", clientPort, peerPort, ...companion };
    });
    opening = ProxiedNetwork.open({ nodes, clients, hasOnePeerAddress });
  }
  // Also if it is still being opened when the run ends; one that failed has removed itself.
  undo.push(async () => (await opening.catch(() => undefined))?.close());
  return opening;
}

/** A file system of its own for each node, with room for `copies` copies of its data. */
export async function mountVolumes(
  network: Network,
  directory: string,
  copies: number,
  signal: AbortSignal,
  undo: Undo,
): Promise<Volume[]> {
  const volumes: Volume[] = [];
  for (const { id } of network.nodes) {
    const volume = new Volume(id, join(directory, `volume-${id}`));
    signal.throwIfAborted();
    const mounting = volume.mount(copies * VOLUME_MEBIBYTES);
    volumes.push(volume);
    undo.push(async () => {
      await mounting;
      await volume.unmount();
      await rm(volume.directory, { recursive: true });
    });
    await mounting;
  }
  return volumes;
}

/** A disk of its own for each node, by its id, that can lose what was not synced. */
export async function buildPlatters(
  network: Network,
  directory: string,
  volumes: readonly Volume[],
  undo: Undo,
): Promise<Map<number, Platter>> {
  const platters = new Map<number, Platter>();
  for (const { id } of network.nodes) {
    const volume = volumes.find(({ nodeId }) => nodeId === id);
    const own = join(volume?.directory ?? directory, `platter-${id}`);
    undo.push(() => rm(own, { recursive: true, force: true }));
    await mkdir(own);
    platters.set(id, await Platter.build(await realpath(own)));
  }
  return platters;
}

export interface NodeSetting {
  readonly system: System;
  readonly network: Network;
  readonly volumes: readonly Volume[];
  readonly platters: ReadonlyMap<number, Platter>;
  /** Whether clocks of nodes can be given another rate. */
  readonly hasPacedClocks: boolean;
  readonly directory: string;
  readonly events: NodeEvents;
  readonly signal: AbortSignal;
}

/** Resolves when each node answers. */
export async function startNodes(setting: NodeSetting, undo: Undo): Promise<NodeProcess[]> {
  const { network, events, signal } = setting;
  const death = await parentDeathPrefix();
  const nodes = network.nodes.map((node) => {
    return new NodeProcess(planOf(node, setting, death), events);
  });
  network.nameProcesses((id) => [
    nodes.find((node) => node.id === id)?.pid,
    setting.system.companionPid?.(id),
  ]);
  undo.push(async () => {
    for (const { plan } of nodes) await rm(plan.dataDirectory, { recursive: true, force: true });
  });
  // Their data are not needed any more: they are killed rather than stopped.
  undo.push(async () => {
    await Promise.all(nodes.map((node) => node.close()));
  });
  for (const node of nodes) {
    const { dataDirectory, clockFile, platter } = node.plan;
    await mkdir(dataDirectory, { recursive: true });
    platter?.settle();
    if (clockFile !== undefined) writeRate(clockFile, 1);
    node.start();
  }
  await Promise.all(nodes.map((node) => node.answers(signal)));
  return nodes;
}

function planOf(
  node: NodeAddresses,
  { system, network, volumes, platters, hasPacedClocks, directory }: NodeSetting,
  death: readonly string[],
): NodePlan {
  const { id, host, clientPort, peerPort } = node;
  const volume = volumes.find(({ nodeId }) => nodeId === id);
  const platter = platters.get(id);
  const disk = platter?.root ?? volume?.directory;
  const dataDirectory = disk === undefined ? join(directory, `data-${id}`) : join(disk, "data");
  const clockFile = hasPacedClocks ? join(directory, `clock-${id}`) : undefined;
  const {
    command,
    commandOf = () => command,
    members = [id],
    status,
  } = system.serverOf(node, dataDirectory);
  return {
    id,
    members,
    commandOf: (member) => {
      const words = commandOf(member);
      return hasPacedClocks ? withPacedClocks(words) : words;
    },
    status,
    peerAddress: `${host}:${peerPort}`,
    platter,
    volume,
    clockFile,
    environment: {
      ...platter?.environment(),
      ...(clockFile === undefined ? {} : pacedEnvironment(clockFile)),
    },
    dataDirectory,
    logFile: join(directory, `node-${id}.log`),
    endpoint: `ws://${host}:${clientPort}`,
    localEndpoint: `unix:${dataDirectory}`,
    prefix: [...death, ...network.prefixOf(nodePlace(id))],
  };
}
