/** Holdfast itself: the built command, by its public flags. */
import { type Network, nodePlace } from "../cluster/network.js";
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
    serverOf({ id, host, clientPort }, dataDirectory) {
      const members = network.nodes.map((node) => `${node.id}=${node.host}:${node.peerPort}`);
      const endpoint = `ws://${host}:${clientPort}`;
      const command = [
        process.execPath,
        builtCommand(),
        "server",
        `--id=${id}`,
        `--data=${dataDirectory}`,
        `--listen=${host}:${clientPort}`,
        `--initial-cluster=${members.join(",")}`,
        "--log-format=json",
        // So that the store has something to do, and something that can be damaged.
        "--audit",
        "--stop-on-stdin-end",
        ...networkArguments(network, id),
      ];
      const status = async () => {
        // A node that has lost contact cannot check a token; its local socket needs none.
        const asked = isClosed ? `unix:${dataDirectory}` : endpoint;
        const [report] = await clusterStatus([asked], { timeoutMs: STATUS_MS_MAX });
        return report?.isReachable === true ? report : undefined;
      };
      return { command, status };
    },
  }),
};

function networkArguments(network: Network, id: number): string[] {
  // Nothing outside this machine can reach the addresses of namespaces.
  if (network.kind === "namespaces") return ["--insecure"];
  const door = network.doorOf(id);
  const peers = network.nodes
    .filter((node) => node.id !== id)
    .map((node) => {
      const { host, port } = network.peerAddress(nodePlace(id), node.id);
      return `--peer-address=${node.id}=${host}:${port}`;
    });
  return [`--advertise=ws://${door.host}:${door.port}`, ...peers];
}
