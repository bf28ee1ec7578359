/** Every node's table knows to which node a client attached last, and from which address. */
import { expect, test } from "vitest";
import { startCluster } from "../world/cluster.js";

test("a session is shown at the node, and with the address, of its last attachment", async () => {
  const { world, leader, followers } = await startCluster();
  const client = world.client();
  client.connect(followers[0], { address: "10.0.0.7" });
  client.attach();
  await world.until("attached", () => client.session !== 0);
  await world.run(100);
  const shown = () => world.nodes.map(({ table }) => table.listSessions(0, 9).sessions[0]);
  for (const view of shown()) {
    expect(view).toMatchObject({ node: followers[0].id, address: "10.0.0.7" });
  }
  client.disconnect();
  client.connect(leader, { address: "10.0.0.8" });
  client.attach();
  const { attempt } = client;
  await world.until("attached", () => client.attached(attempt) !== undefined);
  await world.run(100);
  for (const view of shown()) {
    expect(view).toMatchObject({ node: leader.id, address: "10.0.0.8" });
  }
});
