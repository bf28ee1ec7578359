/**
 * A leader that is cut off, with a proxy on every directed link between the nodes and one before
 * each client port: `--peer-address` and `--advertise` are all it takes.
 */
import { afterEach, expect, test } from "vitest";
import { freePorts } from "../../lab/free-ports.js";
import { TcpProxy } from "../../lab/tcp-proxy.js";
import { connect } from "../../src/index.js";
import { type ClusterProcess, startCluster } from "./world/cluster-process.js";
import { until } from "./world/process-life.js";

const IDS = [1, 2, 3];

class ProxiedCluster {
  readonly cluster: ClusterProcess;
  /** By "from>to". */
  readonly links: ReadonlyMap<string, TcpProxy>;
  readonly clientPorts: ReadonlyMap<number, TcpProxy>;

  constructor(
    cluster: ClusterProcess,
    links: ReadonlyMap<string, TcpProxy>,
    clientPorts: ReadonlyMap<number, TcpProxy>,
  ) {
    this.cluster = cluster;
    this.links = links;
    this.clientPorts = clientPorts;
  }

  get endpoints(): string[] {
    return [...this.clientPorts.values()].map(endpointOf);
  }

  /** Both directions between `id` and everybody else. */
  linksOf(id: number): TcpProxy[] {
    return [...this.links].filter(([name]) => name.includes(String(id))).map(([, link]) => link);
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    const proxies = [...this.links.values(), ...this.clientPorts.values()];
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }
}

function endpointOf(proxy: TcpProxy): string {
  return `ws://127.0.0.1:${proxy.address.port}`;
}

async function startProxied(): Promise<ProxiedCluster> {
  const ports = await freePorts(2 * IDS.length);
  const links = new Map<string, TcpProxy>();
  const clientPorts = new Map<number, TcpProxy>();
  for (const to of IDS) {
    clientPorts.set(to, await TcpProxy.to(ports[to - 1] ?? 0));
    for (const from of IDS) {
      if (from === to) continue;
      links.set(`${from}>${to}`, await TcpProxy.to(ports[IDS.length + to - 1] ?? 0));
    }
  }
  const argumentsOf = (id: number): string[] => {
    const client = clientPorts.get(id);
    const flags = client === undefined ? [] : [`--advertise=${endpointOf(client)}`];
    for (const to of IDS) {
      const link = links.get(`${id}>${to}`);
      if (link !== undefined) flags.push(`--peer-address=${to}=127.0.0.1:${link.address.port}`);
    }
    return flags;
  };
  return new ProxiedCluster(await startCluster({ ports, argumentsOf }), links, clientPorts);
}

let proxied: ProxiedCluster | undefined;

afterEach(async () => {
  await proxied?.stop();
  proxied = undefined;
});

test("a leader cut off from the others is replaced, its clients move, and it comes back as a follower", async () => {
  proxied = await startProxied();
  const { cluster, endpoints } = proxied;
  const leader = await cluster.leader();
  await using client = await connect({ endpoints, ttlMs: 30_000 });
  const kept = await client.acquire("kept");
  const before = (await leader.status())?.term ?? 0;
  // Clients learn the proxies and nothing else.
  expect([...client.endpoints].sort()).toEqual([...endpoints].sort());

  for (const link of proxied.linksOf(leader.id)) link.cut();
  const during = await client.acquire("during");
  expect(during.token).toBeGreaterThan(kept.token);
  const others = cluster.nodes.filter((node) => node.id !== leader.id);
  await until("one of the others to lead", async () => {
    const statuses = await Promise.all(others.map((node) => node.status()));
    return statuses.some((status) => status?.role === "leader" && status.term > before);
  });
  await until("it to lead no more", async () => (await leader.status())?.role !== "leader");
  expect(kept.isHeld).toBe(true);

  for (const link of proxied.linksOf(leader.id)) link.heal();
  const after = await cluster.leader();
  await using late = await connect({
    endpoints: [endpointOf(proxied.clientPorts.get(leader.id) as TcpProxy)],
    followLeader: false,
  });
  // What it answers it must have caught up with.
  expect((await late.inspect("during")).holds[0]?.token).toBe(during.token);
  expect((await after.status())?.term).toBeGreaterThan(before);
  expect(await kept.release()).toEqual({ released: true });
});

test("a follower that can be heard but hears nothing disturbs nobody", async () => {
  proxied = await startProxied();
  const { cluster, endpoints, links } = proxied;
  const leader = await cluster.leader();
  const deaf = cluster.nodes.find((node) => node.id !== leader.id);
  await using client = await connect({ endpoints, ttlMs: 30_000 });
  for (const from of IDS) links.get(`${from}>${deaf?.id}`)?.cut();

  // Until it has noticed, and long enough to stand for election several times.
  while ((await deaf?.status())?.leader !== 0)
    await client.acquire("work").then((l) => l.release());
  const term = (await deaf?.status())?.term;
  for (let i = 0; i < 300; i += 1) {
    const lock = await client.acquire("work");
    expect(await lock.release()).toEqual({ released: true });
  }
  // It hears of no term of others, and asks for votes in none of its own.
  expect((await deaf?.status())?.term).toBe(term);
});
