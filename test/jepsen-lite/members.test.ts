/** How a node is started as the member that it is: a founder, or one that has joined since. */
import { expect, test } from "vitest";
import type { NodeAddresses } from "../../jepsen-lite/cluster/network.js";
import { ProxiedNetwork } from "../../jepsen-lite/cluster/proxied-network.js";
import { holdfast } from "../../jepsen-lite/systems/holdfast.js";
import { freePorts } from "../../lab/free-ports.js";

test("a later member joins the others at the same place, and every node knows its link", async () => {
  const ports = await freePorts(6);
  const nodes = [1, 2, 3].map((id, index): NodeAddresses => {
    const [clientPort = 0, peerPort = 0] = ports.slice(2 * index);
    return { id, host: "127.0.0.1", clientPort, peerPort };
  });
  const network = await ProxiedNetwork.open({ nodes, clients: 1 });
  try {
    const [, second] = nodes as [NodeAddresses, NodeAddresses, NodeAddresses];
    const { command, commandOf, members } = holdfast.make(network, false).serverOf(second, "/d");
    const [founder, next = 0] = members ?? [];
    expect(founder).toBe(2);
    expect(new Set(members).size).toBe(members?.length);
    expect(command).toEqual(commandOf?.(2));
    expect(command.filter((word) => word.startsWith("--join"))).toEqual([]);
    const joining = commandOf?.(next) ?? [];
    expect(joining).toContain(`--id=${next}`);
    expect(joining).toContain(`--peer-listen=127.0.0.1:${second.peerPort}`);
    expect(joining.filter((word) => word.startsWith("--initial-cluster"))).toEqual([]);
    // Whatever number it has, the first node dials it through the same proxy.
    const dialled = holdfast.make(network, false).serverOf(nodes[0] as NodeAddresses, "/d").command;
    const [addresses = ""] = dialled.filter((word) => word.startsWith("--peer-address="));
    const { host, port } = network.peerAddress("n1", 2);
    expect(addresses).toContain(`2=${host}:${port}`);
    expect(addresses).toContain(`${next}=${host}:${port}`);
  } finally {
    await network.close();
  }
});
