/**
 * What the process around a node uses, under the names that boards for Node.js processes expect:
 * the names of prom-client's default metrics. Figures that only files of the system have are read
 * between two scrapes, so that no scrape waits for the disk.
 */
import { readdir, readFile } from "node:fs/promises";
import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
} from "node:perf_hooks";
import { getHeapSpaceStatistics } from "node:v8";
import { Histogram } from "./histogram.js";
import { histogramText, type Metric, metricText } from "./metric-text.js";

const GC_KINDS: ReadonlyMap<number, number> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 0],
  [constants.NODE_PERFORMANCE_GC_MINOR, 1],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 2],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 3],
]);
const GC_SECONDS = [0.001, 0.01, 0.1, 1, 2, 5];

/** How late the event loop was within a second, in seconds. */
export interface LoopLag {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly stddev: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** What only Linux says, and only as of the last look. */
interface SystemFigures {
  readonly virtualBytes: number | undefined;
  readonly openFiles: number | undefined;
  readonly openFilesMax: number | undefined;
}

export class ProcessMeter {
  readonly #collections = new Histogram({
    name: "gc_duration_seconds",
    help: "How long garbage collections took, by kind.",
    bounds: GC_SECONDS,
    rows: ["major", "minor", "incremental", "weakcb"].map((kind) => `kind="${kind}"`),
  });
  readonly #observer: PerformanceObserver;
  #system: SystemFigures | undefined;
  #isLooking = false;

  constructor() {
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) this.#onCollection(entry);
    });
    this.#observer.observe({ entryTypes: ["gc"] });
    this.#look();
  }

  stop(): void {
    this.#observer.disconnect();
  }

  /** `lag`: `undefined` before the first second is over. */
  text(lag: LoopLag | undefined): string {
    this.#look();
    const metrics = [
      ...cpuMetrics(),
      ...memoryMetrics(),
      ...(this.#system === undefined ? [] : systemMetrics(this.#system)),
      ...(lag === undefined ? [] : lagMetrics(lag)),
      versionMetric(),
    ];
    return metrics.map(metricText).join("") + histogramText([this.#collections], "nodejs_");
  }

  #onCollection(entry: PerformanceEntry): void {
    const { duration } = entry;
    const { kind } = (entry as PerformanceEntry & { readonly detail: NodeGCPerformanceDetail })
      .detail;
    if (kind === undefined) return;
    const row = GC_KINDS.get(kind);
    if (row !== undefined) this.#collections.observe(row, duration / 1_000);
  }

  /** For the next scrape. */
  #look(): void {
    if (this.#isLooking || process.platform !== "linux") return;
    this.#isLooking = true;
    systemFigures()
      .then((figures) => {
        this.#system = figures;
      })
      // Without /proc the figures are left out.
      .catch(() => {
        this.#system = undefined;
      })
      .finally(() => {
        this.#isLooking = false;
      });
  }
}

async function systemFigures(): Promise<SystemFigures> {
  const [status, limits, files] = await Promise.all([
    readFile("/proc/self/status", "utf8"),
    readFile("/proc/self/limits", "utf8"),
    readdir("/proc/self/fd"),
  ]);
  const virtualKib = /^VmSize:\s+(\d+) kB/m.exec(status)?.[1];
  const openMax = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return {
    virtualBytes: virtualKib === undefined ? undefined : Number(virtualKib) * 1_024,
    openFilesMax: openMax === undefined ? undefined : Number(openMax),
    // Without the one by which the list was read.
    openFiles: files.length - 1,
  };
}

function cpuMetrics(): Metric[] {
  const { user, system } = process.cpuUsage();
  const startedSeconds = Math.round(Date.now() / 1_000 - process.uptime());
  return [
    total("process_cpu_user_seconds_total", "User CPU time.", user / 1e6),
    total("process_cpu_system_seconds_total", "System CPU time.", system / 1e6),
    total("process_cpu_seconds_total", "User and system CPU time.", (user + system) / 1e6),
    value(
      "process_start_time_seconds",
      "When the process started, in seconds since 1970.",
      startedSeconds,
    ),
  ];
}

function memoryMetrics(): Metric[] {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const spaces = getHeapSpaceStatistics();
  const perSpace = (what: string, help: string, bytesOf: (space: (typeof spaces)[0]) => number) =>
    value(
      `nodejs_heap_space_size_${what}_bytes`,
      help,
      spaces.map((space) => [`space="${space.space_name.replace(/_space$/, "")}"`, bytesOf(space)]),
    );
  return [
    value("process_resident_memory_bytes", "Resident memory.", rss),
    value("nodejs_heap_size_total_bytes", "Heap that the process has.", heapTotal),
    value("nodejs_heap_size_used_bytes", "Heap that is in use.", heapUsed),
    value("nodejs_external_memory_bytes", "Memory of buffers outside the heap.", external),
    perSpace("total", "Heap, by space.", ({ space_size }) => space_size),
    perSpace("used", "Heap in use, by space.", ({ space_used_size }) => space_used_size),
    perSpace(
      "available",
      "Heap that is free, by space.",
      ({ space_available_size }) => space_available_size,
    ),
  ];
}

function systemMetrics({ virtualBytes, openFiles, openFilesMax }: SystemFigures): Metric[] {
  const known = (name: string, help: string, figure: number | undefined): Metric[] =>
    figure === undefined ? [] : [value(name, help, figure)];
  return [
    ...known("process_virtual_memory_bytes", "Virtual memory.", virtualBytes),
    ...known("process_open_fds", "Open file descriptors.", openFiles),
    ...known("process_max_fds", "File descriptors that may be open.", openFilesMax),
  ];
}

function lagMetrics(lag: LoopLag): Metric[] {
  const name = "nodejs_eventloop_lag";
  const within = "within a second";
  return [
    value(`${name}_seconds`, `Mean lag of the event loop ${within}.`, lag.mean),
    value(`${name}_min_seconds`, `Shortest lag of the event loop ${within}.`, lag.min),
    value(`${name}_max_seconds`, `Longest lag of the event loop ${within}.`, lag.max),
    value(`${name}_mean_seconds`, `Mean lag of the event loop ${within}.`, lag.mean),
    value(`${name}_stddev_seconds`, `Deviation of that lag ${within}.`, lag.stddev),
    value(`${name}_p50_seconds`, `Median of that lag ${within}.`, lag.p50),
    value(`${name}_p90_seconds`, `90th percentile of that lag ${within}.`, lag.p90),
    value(`${name}_p99_seconds`, `99th percentile of that lag ${within}.`, lag.p99),
  ];
}

function versionMetric(): Metric {
  const [major = "", minor = "", patch = ""] = process.version.slice(1).split(".");
  const parts = `major="${major}",minor="${minor}",patch="${patch}"`;
  const labels = `version="${process.version}",${parts}`;
  return value("nodejs_version_info", "Version of Node.js.", [[labels, 1]]);
}

function value(name: string, help: string, samples: Metric["samples"]): Metric {
  return { name, type: "gauge", help, samples };
}

function total(name: string, help: string, samples: Metric["samples"]): Metric {
  return { name, type: "counter", help, samples };
}
