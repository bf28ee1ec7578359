/**
 * Who waits for whom: a drawing, and a table that says the same. Below it the deadlocks that the
 * cluster refused lately, each with its cycle.
 */
import type { GraphEdge, GraphOwner, RefusedDeadlock, WaitGraphView } from "../../../src/index.js";
import { usePolled } from "../../connection/polled.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { KeyText } from "../../parts/key-text.js";
import { countText, whoPhrase } from "../../parts/phrase.js";
import { PhraseText } from "../../parts/phrase-text.js";
import { Problem } from "../../parts/problem.js";
import { Time } from "../../parts/time.js";
import { hrefOf } from "../../state/router.js";
import { cyclePhrase } from "./cycle-phrase.js";
import { GraphDrawing } from "./graph-drawing.js";
import { graphLayout } from "./graph-layout.js";

const INTERVAL_MS = 2_000;
/** Edges that are asked for: more than a table of them can be read. */
const EDGES_MAX = 500;

export function GraphView() {
  const { answer, error } = usePolled<WaitGraphView>(
    (admin, signal) => admin.waitGraph({ limit: EDGES_MAX, signal }),
    { intervalMs: INTERVAL_MS, question: "graph" },
  );
  return (
    <>
      {error !== undefined && <Problem error={error} />}
      {answer === undefined ? (
        error === undefined && <p>Asking the cluster …</p>
      ) : (
        <Graph graph={answer} />
      )}
    </>
  );
}

function Graph({ graph }: { readonly graph: WaitGraphView }) {
  const { owners, edges, isTruncated, refused } = graph;
  const layout = graphLayout(owners, edges);
  const byId = new Map(owners.map((owner) => [owner.id, owner]));
  return (
    <>
      <p>{summary(graph, layout.hidden)}</p>
      {layout.owners.length > 0 && <GraphDrawing layout={layout} />}
      <DataTable
        caption={
          isTruncated ? `The first ${EDGES_MAX} waits; there are more` : "Who waits for whom"
        }
        columns={columnsFor(byId)}
        rows={edges}
        rowKey={({ from, to, key, why }) => JSON.stringify([from, to, key, why])}
        empty="Nobody waits."
      />
      <h2>Refused deadlocks</h2>
      <p class="hint">
        A request that would close a cycle is refused at once, with the code DEADLOCK. These are the
        last ones that this node knows of.
      </p>
      <Refused refused={refused} />
    </>
  );
}

function summary({ owners, edges }: WaitGraphView, hidden: number): string {
  if (edges.length === 0) return "Nobody waits for anybody.";
  const waiting = new Set(edges.map(({ from }) => from)).size;
  const tasks = `${countText(waiting, "task")} ${waiting === 1 ? "waits" : "wait"}`;
  const rest = hidden === 0 ? "" : ` The drawing leaves out ${hidden} of ${owners.length} tasks.`;
  return `${tasks}. An arrow leads from a task to the one that it waits for.${rest}`;
}

function columnsFor(byId: ReadonlyMap<number, GraphOwner>): readonly Column<GraphEdge>[] {
  const who = (id: number) => {
    const owner = byId.get(id);
    return owner === undefined ? (
      `task ${id}`
    ) : (
      <span class="who">
        <PhraseText phrase={whoPhrase(owner)} />
        {`, task ${owner.owner}`}
      </span>
    );
  };
  return [
    { id: "from", title: "Waits", isRowHeader: true, cell: ({ from }) => who(from) },
    {
      id: "key",
      title: "For the lock",
      cell: ({ key }) => (
        <a href={hrefOf("lock", key)}>
          <KeyText name={key} />
        </a>
      ),
    },
    { id: "mode", title: "Mode", cell: ({ mode }) => mode },
    { id: "to", title: "Of", cell: ({ to }) => who(to) },
    {
      id: "why",
      title: "Because that one",
      cell: ({ why }) => (why === "holds" ? "holds it" : "is ahead"),
    },
  ];
}

function Refused({ refused }: { readonly refused: readonly RefusedDeadlock[] }) {
  const columns: readonly Column<RefusedDeadlock>[] = [
    {
      id: "time",
      title: "When",
      isRowHeader: true,
      cell: ({ wallMs }) => <Time wallMs={wallMs} />,
    },
    {
      id: "cycle",
      title: "What would have been",
      cell: ({ cycle }) => (
        <span class="sentence">
          <PhraseText phrase={cyclePhrase(cycle)} />
        </span>
      ),
    },
  ];
  return (
    <>
      {refused[0] !== undefined && <CycleDrawing {...refused[0]} />}
      <DataTable
        caption="Refused deadlocks, newest first"
        isCaptionHidden
        columns={columns}
        rows={refused}
        rowKey={({ wallMs, cycle }) => JSON.stringify([wallMs, cycle])}
        empty="None, as far as this node knows."
      />
    </>
  );
}

/** The newest one: drawn like the graph above. */
function CycleDrawing({ cycle }: RefusedDeadlock) {
  const owners = cycle.map((member, id) => ({ ...member, id }));
  const edges = cycle.map(({ key, mode }, from): GraphEdge => {
    return { from, to: (from + 1) % cycle.length, key, mode, why: "holds" };
  });
  return <GraphDrawing layout={graphLayout(owners, edges)} title="The newest refused deadlock" />;
}
