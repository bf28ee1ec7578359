/** How the cluster is: whether all is well, its nodes, its last quarter of an hour, what happened. */
import { useEffect, useMemo } from "preact/hooks";
import { useCluster } from "../../connection/context.js";
import { VitalsOfMembers } from "../../connection/member-vitals.js";
import { Badge } from "../../parts/badge.js";
import { Chart } from "../../parts/chart.js";
import { announce } from "../../state/announcements.js";
import { useStore } from "../../state/store.js";
import { EventTable } from "./event-table.js";
import { type Health, isLoopback, judgeHealth, type NodeHealth } from "./health.js";
import { NodeTable } from "./node-table.js";
import { seriesOf } from "./series.js";

export function ClusterView() {
  const cluster = useCluster();
  const { members, hasLeader, nodes: known } = cluster;
  const source = useMemo(() => new VitalsOfMembers(cluster.connection), [cluster.connection]);
  useEffect(() => {
    source.start();
    return () => source.stop();
  }, [source]);
  useEffect(() => source.onNodes(known), [source, known]);
  const vitals = useStore(source.state);
  const nodes = useMemo(() => nodesOf(known, members, vitals), [known, members, vitals]);
  const health = judgeHealth({
    members,
    hasLeader,
    nodes,
    nowMs: Date.now(),
    isBeyondLoopback: known.some(({ endpoint }) => !isLoopback(new URL(endpoint).hostname)),
  });
  useEffect(() => {
    if (vitals.size > 0) announce(health.sentence);
  }, [health.sentence, vitals.size]);
  if (vitals.size === 0) return <p>Asking the nodes how they are …</p>;
  return (
    <>
      <HealthText health={health} />
      <NodeTable nodes={nodes} members={members} />
      <Charts nodes={nodes} />
      <EventTable nodes={nodes} />
    </>
  );
}

/** Members that this page knows of, whether it may ask them or not. */
function nodesOf(
  known: readonly { readonly id: number }[],
  members: { readonly members: readonly { readonly id: number }[] } | undefined,
  vitals: ReadonlyMap<number, NodeHealth>,
): NodeHealth[] {
  const ids = new Set([...known, ...(members?.members ?? [])].map(({ id }) => id));
  return [...ids]
    .filter((id) => id !== 0)
    .sort((a, b) => a - b)
    .map((node) => vitals.get(node) ?? { node, vitals: undefined, isAnswering: undefined });
}

const WORDS = { good: "Well", warning: "Look here", bad: "Not well" } as const;

function HealthText({ health: { level, sentence, findings } }: { readonly health: Health }) {
  const [worst] = findings;
  return (
    <section class={`health health-${level}`} aria-label="Health">
      <p>
        <Badge kind={level} word={WORDS[level]} /> <strong>{sentence}</strong>
        {findings.length === 1 && worst !== undefined && <Help page={worst.help} />}
      </p>
      {findings.length > 1 && (
        <ul>
          {findings.map(({ level: one, sentence: text, help }) => (
            <li key={text}>
              <Badge kind={one} word={one === "bad" ? "Problem" : "Warning"} /> {text}
              <Help page={help} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Help({ page }: { readonly page: string }) {
  return (
    <span class="reason">
      {" "}
      What helps: <code>{page}</code>
    </span>
  );
}

function Charts({ nodes }: { readonly nodes: readonly NodeHealth[] }) {
  const { times, ...lines } = useMemo(() => seriesOf(nodes), [nodes]);
  return (
    <section aria-label="The last quarter of an hour">
      <h2>The last quarter of an hour</h2>
      <div class="charts">
        <Chart
          title="Locks"
          unit="a second"
          times={times}
          series={[
            { name: "granted", values: lines.grants },
            { name: "began to wait", values: lines.waits },
            { name: "waited in vain", values: lines.failures },
          ]}
        />
        <Chart
          title="Commits"
          unit="ms"
          times={times}
          series={[
            { name: "p50", values: lines.commitP50Ms },
            { name: "p99", values: lines.commitP99Ms },
          ]}
        />
        <Chart
          title="Waits for a lock"
          unit="ms"
          times={times}
          series={[
            { name: "p50", values: lines.waitP50Ms },
            { name: "p99", values: lines.waitP99Ms },
          ]}
        />
      </div>
    </section>
  );
}
