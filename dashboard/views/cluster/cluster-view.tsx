/** How the cluster is: whether all is well, its nodes, its last quarter of an hour, what happened. */
import { useEffect, useMemo } from "preact/hooks";
import { type Health, helpText, judgeHealth, LEVEL_WORDS } from "../../../src/views/index.js";
import { useCluster } from "../../connection/context.js";
import { VitalsOfMembers } from "../../connection/member-vitals.js";
import { Badge } from "../../parts/badge.js";
import { Chart } from "../../parts/chart.js";
import { announce } from "../../state/announcements.js";
import { useStore } from "../../state/store.js";
import { factsOf, isLoopback, membersKnown, type NodeHealth } from "./cluster-facts.js";
import { EventTable } from "./event-table.js";
import { LEVEL_BADGES } from "./level-badges.js";
import { NodeTable } from "./node-table.js";
import { seriesOf } from "./series.js";

export function ClusterView() {
  const cluster = useCluster();
  const { members, own, leader, nodes: known } = cluster;
  const source = useMemo(() => new VitalsOfMembers(cluster.connection), [cluster.connection]);
  useEffect(() => {
    source.start();
    return () => source.stop();
  }, [source]);
  useEffect(() => source.onMembers(), [source, members, own]);
  const vitals = useStore(source.state);
  const isBeyondLoopback = known.some(({ endpoint }) => !isLoopback(new URL(endpoint).hostname));
  const nodes = membersKnown({ members, own }).map(({ id }): NodeHealth => {
    return vitals.get(id) ?? { node: id, vitals: undefined, isAnswering: undefined };
  });
  const facts = { members, own, leader, nodes, nowMs: Date.now(), isBeyondLoopback };
  const health = judgeHealth(factsOf(facts));
  useEffect(() => {
    if (vitals.size > 0) announce(health.sentence);
  }, [health.sentence, vitals.size]);
  return (
    <>
      <HealthText health={health} />
      <NodeTable known={facts} />
      <Charts nodes={nodes} />
      <EventTable nodes={nodes} />
    </>
  );
}

function HealthText({ health: { level, sentence, findings } }: { readonly health: Health }) {
  const [worst] = findings;
  return (
    <section class={`health health-${LEVEL_BADGES[level]}`} aria-label="Health">
      <p>
        <Level of={level} /> <strong>{sentence}</strong>
        {findings.length === 1 && worst !== undefined && <Help page={worst.help} />}
      </p>
      {findings.length > 1 && (
        <ul>
          {findings.map(({ level: one, sentence: text, help }) => (
            <li key={text}>
              <Level of={one} /> {text}
              <Help page={help} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Level({ of }: { readonly of: Health["level"] }) {
  return <Badge kind={LEVEL_BADGES[of]} word={LEVEL_WORDS[of]} />;
}

function Help({ page }: { readonly page: string }) {
  return <span class="reason">{` ${helpText(page)}`}</span>;
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
