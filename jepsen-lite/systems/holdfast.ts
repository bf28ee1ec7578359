/** Holdfast itself: the built command, by its public flags. */
import { type Network, type NodeAddresses, nodePlace } from "../cluster/network.js";
import type { NodeStatus } from "../cluster/node-process.js";
import { builtCommand } from "../harness/scripts.js";
import { clusterStatus } from "../sdk.js";
import type { System, SystemKind } from "./system.js";

const STATUS_MS_MAX = 1_000;

export const holdfast: SystemKind = {
  name: "holdfast",
  about: "the built command, every write synced on a majority",
  hasOnePort: false,
  hasOnePeerAddress: false,
  tokensRise: "over-all-keys",
  missing: () => undefined,
  make: (network, isClosed): System => ({
    serverOf(node, dataDirectory) {
      const { id, host, clientPort, companionPort } = node;
      const advertised = network.advertisedOf(id);
      const serving = [
        `--listen=${host}:${clientPort}`,
        // Nothing outside this machine can reach the addresses of namespaces.
        network.kind === "namespaces"
          ? "--insecure"
          : `--advertise=ws://${advertised.host}:${advertised.port}`,
        ...(companionPort === undefined
          ? []
          : [`--redis-listen=${host}:${companionPort}`, "--redis-fair"]),
      ];
      const commandOf = (member: number) => [
        ...nodeCommand(network, node, dataDirectory, member),
        ...serving,
      ];
      // A node that has lost contact cannot check a token; its local socket needs none.
      const asked = isClosed ? `unix:${dataDirectory}` : `ws://${host}:${clientPort}`;
      const status = () => nodeStatus(asked);
      return { command: commandOf(id), commandOf, members: membersAt(id), status };
    },
  }),
};

/**
 * The numbers of the members that can follow one another at the place of a node: a number is never used
 * for a second directory.
 */
const MEMBERS_AT_A_PLACE = 40;
const NEXT_MEMBER = 100;

function membersAt(id: number): number[] {
  return Array.from({ length: MEMBERS_AT_A_PLACE }, (_, index) => id + NEXT_MEMBER * index);
}

/** Everything but where it serves clients. `member`: a founder under its own id, or a later one. */
export function nodeCommand(
  network: Network,
  { id, host, peerPort }: NodeAddresses,
  dataDirectory: string,
  member = id,
): string[] {
  const founders = network.nodes.map((node) => `${node.id}=${node.host}:${node.peerPort}`);
  const others = network.nodes.filter((node) => node.id !== id);
  const endpoints = others.map((node) => `ws://${node.host}:${node.clientPort}`);
  const cluster =
    member === id
      ? [`--initial-cluster=${founders.join(",")}`]
      : [`--join=${endpoints.join(",")}`, `--peer-listen=${host}:${peerPort}`];
  return [
    process.execPath,
    builtCommand(),
    "server",
    `--id=${member}`,
    `--data=${dataDirectory}`,
    ...cluster,
    "--log-format=json",
    // So that the store has something to do, and something that can be damaged.
    "--audit",
    "--stop-on-stdin-end",
    ...peerArguments(network, id),
  ];
}

/** What the node at this endpoint reports; `undefined` if it does not answer. */
export async function nodeStatus(endpoint: string): Promise<NodeStatus | undefined> {
  const [report] = await clusterStatus([endpoint], { timeoutMs: STATUS_MS_MAX });
  return report?.isReachable === true ? report : undefined;
}

function peerArguments(network: Network, id: number): string[] {
  if (network.kind === "namespaces") return [];
  const others = network.nodes.filter((node) => node.id !== id);
  const addresses = others.flatMap((node) => {
    const { host, port } = network.peerAddress(nodePlace(id), node.id);
    return membersAt(node.id).map((member) => `${member}=${host}:${port}`);
  });
  return others.length === 0 ? [] : [`--peer-address=${addresses.join(",")}`];
}
