import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { clusterStatus, type KeyView } from "../../../src/client/index.js";
import { listenOnForbiddenPort } from "../../forbidden-port.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

describe("seeing", () => {
  it("shows who holds and who waits", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { name: "one" });
    const two = await connectTo(server, { name: "two" });
    const lock = await world.until(one.client.acquire("k"));
    two.client.acquire("k").catch(() => undefined);
    await world.run(50);
    const view = await world.until(two.client.inspect("k"));
    expect(view.key).toBe("k");
    expect(view.holds).toMatchObject([{ token: lock.token, sessionName: "one" }]);
    expect(view.waiters).toMatchObject([{ mode: "exclusive", sessionName: "two" }]);
    await world.until(two.client.close());
  });

  it("walks through all pages in order", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    const names = Array.from({ length: 450 }, (_, i) => `p/${String(i).padStart(4, "0")}`);
    await world.until(Promise.all([...names, "q"].map((name) => client.acquire(name))));
    const collect = async () => {
      const views: KeyView[] = [];
      for await (const view of client.query("p/")) views.push(view);
      return views.map(({ key }) => key);
    };
    expect(await world.until(collect())).toEqual(names);
  });

  it("asks again elsewhere when the connection breaks or the node is busy", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server);
    server.faults.busy = "everything";
    const asking = client.inspect("k");
    await world.run(300);
    server.faults.busy = "nothing";
    expect((await world.until(asking)).holds).toEqual([]);
    const again = client.inspect("k");
    platform.connection?.cut();
    expect((await world.until(again)).holds).toEqual([]);
  });

  it("gives up with the signal, and as UNAVAILABLE when nobody answers", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000, connectTimeoutMs: 1_000 });
    server.faults.busy = "everything";
    const controller = new AbortController();
    const asking = client.inspect("k", { signal: controller.signal });
    world.after(50, () => controller.abort());
    expect(await rejection(world, asking)).toBe(controller.signal.reason);
    expect((await failure(world, client.inspect("k"))).code).toBe("UNAVAILABLE");
  });
});

describe("the status of a cluster", () => {
  const status = {
    id: 1,
    role: "leader",
    pid: 42,
    term: 3,
    leader: 1,
    commitIndex: 9,
    appliedIndex: 9,
    endpoint: "ws://advertised:1",
  };

  it("is given at any port, even at the ports that no web page may ask", async () => {
    const node = createServer((_, response) => response.end(JSON.stringify(status)));
    const port = await listenOnForbiddenPort(node);
    await expect(fetch(`http://127.0.0.1:${port}/status`)).rejects.toThrow();
    const reports = await clusterStatus([`ws://127.0.0.1:${port}`], { timeoutMs: 30_000 });
    expect(reports).toEqual([{ ...status, isReachable: true }]);
    node.close();
  });

  it("does not follow a node to another place", async () => {
    const node = createServer((_, response) => {
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
    const { port } = node.address() as AddressInfo;
    const [report] = await clusterStatus([`ws://127.0.0.1:${port}`], { timeoutMs: 30_000 });
    expect(report).toMatchObject({ isReachable: false, error: { code: "PROTOCOL" } });
    node.close();
  });

  it("shows for each endpoint what the node says, or why it says nothing", async () => {
    const node = createServer((request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(request.url === "/status" ? JSON.stringify(status) : "{}");
    });
    const stranger = createServer((_, response) => response.end("<html>"));
    const silent = createServer(() => undefined);
    const urls: string[] = [];
    for (const each of [node, stranger, silent]) {
      await new Promise<void>((resolve) => each.listen(0, "127.0.0.1", resolve));
      urls.push(`ws://127.0.0.1:${(each.address() as AddressInfo).port}`);
    }
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const [nodeUrl = "", strangerUrl = "", silentUrl = ""] = urls;
    const answering = [nodeUrl, strangerUrl, `ws://127.0.0.1:${port}`];
    // Only who says nothing is to run out of time, however slow the machine is.
    const [answers, silence] = await Promise.all([
      clusterStatus(answering, { timeoutMs: 30_000 }),
      clusterStatus([silentUrl], { timeoutMs: 100 }),
    ]);
    const reports = [...answers, ...silence];
    expect(reports[0]).toEqual({ ...status, isReachable: true });
    const errors = reports.map((each) => (each.isReachable ? undefined : each.error.code));
    expect(errors).toEqual([undefined, "UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"]);
    for (const each of [node, stranger, silent]) {
      each.closeAllConnections();
      each.close();
    }
  });
});
