/**
 * `floods`: what one identity, or a stranger, can do to others. A closed cluster of three nodes; an
 * identity takes and releases locks at a small fixed rate at the leader, next to a process that only burns
 * CPU, and next to each flood of the list, in turns. Its p99 next to a flood should be at most three
 * times the other.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePorts } from "../../../lab/free-ports.js";
import { type Client, connect, connectAdmin } from "../../../src/index.js";
import { withOwnCluster } from "../../cluster/own-cluster.js";
import { Histogram } from "../../load/histogram.js";
import { describeMachine, type Machine } from "../../measures/machine.js";
import { MIB, residentBytes } from "../../measures/resident-memory.js";
import { hundredths, medianOf, tenths } from "../../measures/statistics.js";
import type { FloodsOptions } from "../../options/bench-options.js";
import { Progress } from "../../progress.js";
import {
  BURNER,
  FLOOD_NAMES,
  FLOODS,
  type FloodName,
  type FloodOrder,
  type FloodTarget,
} from "./flood-list.js";
import { isInside, isPossible, runInside, StrangeNetwork } from "./private-network.js";

const PROCESS = fileURLToPath(new URL("flood-process.js", import.meta.url));
const LOOPBACK = "127.0.0.1";
/** From the beginning of a flood until it is measured. */
const BEGIN_MS = 1_500;
/** After a flood: what it has left ends. */
const PAUSE_MS = 1_000;
const SPARE_SECONDS = 30;

export type FloodSource = "identity" | "loopback" | "network";

export interface FloodTurn {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Takes that failed. */
  readonly failed: number;
  /** By which the memory of the leader was larger at the end than before. */
  readonly residentMiB: number;
}

export interface FloodFigures {
  readonly flood: FloodName;
  readonly from: FloodSource;
  /** Medians of the turns. */
  readonly p99Ms: number;
  readonly p50Ms: number;
  readonly burnerP99Ms: number;
  readonly burnerP50Ms: number;
  /** The median of the turns' ratios of p99. */
  readonly ratio: number;
  readonly failed: number;
  readonly residentMiB: number;
  readonly turns: readonly { readonly flood: FloodTurn; readonly burner: FloodTurn }[];
}

/** The shape of `--json`; a contract. */
export interface FloodsResult {
  readonly workload: "floods";
  readonly machine: Machine;
  readonly rate: number;
  readonly seconds: number;
  readonly rounds: number;
  /** `null`: floods from another network were not measured, for lack of namespaces. */
  readonly network: string | null;
  readonly floods: readonly FloodFigures[];
}

/** `signal` ends it early, by rejecting. */
export async function runFloods(
  options: FloodsOptions,
  signal: AbortSignal,
): Promise<FloodsResult> {
  if (!isInside() && isPossible()) return JSON.parse(await runInside(signal)) as FloodsResult;
  const strangers = isInside() ? await StrangeNetwork.open() : undefined;
  try {
    return await measureAll(options, strangers, signal);
  } finally {
    strangers?.close();
  }
}

async function measureAll(
  options: FloodsOptions,
  strangers: StrangeNetwork | undefined,
  signal: AbortSignal,
): Promise<FloodsResult> {
  const { rate, seconds, rounds } = options;
  const machine = describeMachine();
  const redisPorts = await freePorts(3);
  const host = strangers === undefined ? LOOPBACK : "0.0.0.0";
  const flagsOf = (node: number) => [
    `--redis-listen=${host}:${redisPorts[node - 1]}`,
    ...(strangers === undefined
      ? []
      : ["--insecure", `--redis-advertise=${LOOPBACK}:${redisPorts[node - 1]}`]),
  ];
  const floods = await withOwnCluster({ host, flagsOf, signal }, async (cluster) => {
    const leader = await cluster.healthy();
    const { endpoint, id, pid } = leader;
    const tokens = await close(endpoint);
    const clientPort = Number(new URL(endpoint).port);
    const redisPort = redisPorts[id - 1] as number;
    const target = { host: LOOPBACK, clientPort, redisPort, token: tokens.flood };
    await using client = await connect({ endpoints: [endpoint], token: tokens.web, signal });
    const stand: Stand = { client, pid, target, strangers, options, signal };
    const figures: FloodFigures[] = [];
    for (const flood of FLOOD_NAMES) {
      for (const from of sourcesOf(flood, strangers)) {
        figures.push(await measure(stand, flood, from));
      }
    }
    return figures;
  });
  const network = strangers?.nodeAddress ?? null;
  return { workload: "floods", machine, rate, seconds, rounds, network, floods };
}

interface Stand {
  readonly client: Client;
  /** The process of the leader. */
  readonly pid: number;
  readonly target: FloodTarget;
  readonly strangers: StrangeNetwork | undefined;
  readonly options: FloodsOptions;
  readonly signal: AbortSignal;
}

function sourcesOf(flood: FloodName, strangers: StrangeNetwork | undefined): FloodSource[] {
  if (FLOODS[flood].by === "identity") return ["identity"];
  return strangers === undefined ? ["loopback"] : ["loopback", "network"];
}

/** From now on only who has a token may do something. */
async function close(endpoint: string): Promise<{ flood: string; web: string }> {
  await using first = await connectAdmin({ endpoints: [endpoint] });
  await first.access.addIdentity("root");
  await first.access.grant("root", "admin", { prefix: "" });
  const { token } = await first.access.createToken("root");
  await using admin = await connectAdmin({ endpoints: [endpoint], token });
  const { access } = admin;
  for (const name of ["flood", "web"]) {
    await access.addIdentity(name);
    await access.grant(name, "acquire", { prefix: "" });
  }
  const flood = await access.createToken("flood");
  const web = await access.createToken("web");
  await access.revoke("anonymous", { prefix: "" });
  return { flood: flood.token, web: web.token };
}

async function measure(stand: Stand, flood: FloodName, from: FloodSource): Promise<FloodFigures> {
  const { rounds } = stand.options;
  const progress = new Progress();
  const turns: { flood: FloodTurn; burner: FloodTurn }[] = [];
  while (turns.length < rounds) {
    progress.show(`${flood} from ${from}: turn ${turns.length + 1} of ${rounds}`);
    const burner = await measureTurn(stand, BURNER, from);
    turns.push({ burner, flood: await measureTurn(stand, flood, from) });
  }
  progress.clear();
  const of = (figureOf: (turn: (typeof turns)[number]) => number): number =>
    medianOf(turns.map(figureOf));
  return {
    ...{ flood, from },
    p99Ms: tenths(of((turn) => turn.flood.p99Ms)),
    p50Ms: tenths(of((turn) => turn.flood.p50Ms)),
    burnerP99Ms: tenths(of((turn) => turn.burner.p99Ms)),
    burnerP50Ms: tenths(of((turn) => turn.burner.p50Ms)),
    ratio: hundredths(of((turn) => turn.flood.p99Ms / turn.burner.p99Ms)),
    failed: turns.reduce((sum, turn) => sum + turn.flood.failed, 0),
    residentMiB: Math.round(Math.max(...turns.map((turn) => turn.flood.residentMiB))),
    turns,
  };
}

async function measureTurn(
  { client, pid, target, strangers, options, signal }: Stand,
  flood: FloodName | typeof BURNER,
  from: FloodSource,
): Promise<FloodTurn> {
  const { rate, seconds } = options;
  const isOutside = from === "network" && strangers !== undefined;
  const host = isOutside ? strangers.nodeAddress : LOOPBACK;
  const order: FloodOrder = {
    ...{ flood, target: { ...target, host } },
    seconds: seconds + BEGIN_MS / 1_000 + SPARE_SECONDS,
  };
  const node = [process.execPath, PROCESS, JSON.stringify(order)];
  const [command = "", ...args] = isOutside ? [...strangers.command, ...node] : node;
  const before = residentBytes(pid) ?? 0;
  const child = spawn(command, args, { stdio: ["pipe", "ignore", "inherit"] });
  try {
    await delay(BEGIN_MS, undefined, { signal });
    const { times, failed } = await takesFor(client, rate, seconds, signal);
    return {
      p50Ms: times.quantileMs(0.5),
      p99Ms: times.quantileMs(0.99),
      failed,
      residentMiB: ((residentBytes(pid) ?? 0) - before) / MIB,
    };
  } finally {
    const gone = once(child, "close");
    child.stdin?.end();
    child.kill("SIGKILL");
    await gone;
    await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Takes begin at a fixed rate, and each counts from the moment when it was due. */
async function takesFor(client: Client, rate: number, seconds: number, signal: AbortSignal) {
  const times = new Histogram();
  const beganMs = performance.now();
  const running: Promise<void>[] = [];
  let failed = 0;
  for (let number = 0; number < rate * seconds; number += 1) {
    const dueMs = beganMs + (number * 1_000) / rate;
    await delay(Math.max(0, dueMs - performance.now()), undefined, { signal });
    const take = async (): Promise<void> => {
      const lock = await client.acquire(`web/${number % 64}/${number}`, { signal });
      times.record(performance.now() - dueMs);
      await lock.release();
    };
    running.push(
      take().catch(() => {
        failed += 1;
      }),
    );
  }
  await Promise.all(running);
  return { times, failed };
}
