/** Holdfast itself: the built command, by its public flags. */
import { type Network, type NodeAddresses, nodePlace } from "../cluster/network.js";
import type { NodeStatus } from "../cluster/node-process.js";
import { builtCommand } from "../harness-scripts.js";
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
      const { id, host, clientPort } = node;
      const door = network.doorOf(id);
      const command = [
        ...nodeCommand(network, node, dataDirectory),
        `--listen=${host}:${clientPort}`,
        // Nothing outside this machine can reach the addresses of namespaces.
        network.kind === "namespaces" ? "--insecure" : `--advertise=ws://${door.host}:${door.port}`,
      ];
      // A node that has lost contact cannot check a token; its local socket needs none.
      const asked = isClosed ? `unix:${dataDirectory}` : `ws://${host}:${clientPort}`;
      return { command, status: () => nodeStatus(asked) };
    },
  }),
};

/** Everything but where it serves clients. */
export function nodeCommand(
  network: Network,
  { id }: NodeAddresses,
  dataDirectory: string,
): string[] {
  const members = network.nodes.map((node) => `${node.id}=${node.host}:${node.peerPort}`);
  return [
    process.execPath,
    builtCommand(),
    "server",
    `--id=${id}`,
    `--data=${dataDirectory}`,
    `--initial-cluster=${members.join(",")}`,
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
  return network.nodes
    .filter((node) => node.id !== id)
    .map((node) => {
      const { host, port } = network.peerAddress(nodePlace(id), node.id);
      return `--peer-address=${node.id}=${host}:${port}`;
    });
}
