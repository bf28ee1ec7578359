/**
 * Who waits for whom: a drawing, and a table that says the same. Below it the deadlocks that the
 * cluster refused lately, each with its cycle.
 */
import type { GraphEdge, RefusedDeadlock, WaitGraphView } from "../../../src/index.js";
import { countText, cyclePhrases, WAIT_COLUMNS, waitRows } from "../../../src/views/index.js";
import { usePolled } from "../../connection/polled.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { KeyText } from "../../parts/key-text.js";
import { PhraseText } from "../../parts/phrase-text.js";
import { Problem } from "../../parts/problem.js";
import { Time } from "../../parts/time.js";
import { viewColumn } from "../../parts/view-column.js";
import { hrefOf } from "../../state/router.js";
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
  const { tasks, edges, isTruncated, refused } = graph;
  const layout = graphLayout(tasks, edges);
  return (
    <>
      <p>{summary(graph, layout.hidden)}</p>
      {layout.tasks.length > 0 && <GraphDrawing layout={layout} />}
      <DataTable
        caption={
          isTruncated ? `The first ${EDGES_MAX} waits; there are more` : "Who waits for whom"
        }
        columns={COLUMNS}
        rows={waitRows(tasks, edges)}
        rowKey={({ from, to, key, why }) => JSON.stringify([from?.id, to?.id, key, why])}
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

function summary({ tasks, edges }: WaitGraphView, hidden: number): string {
  if (edges.length === 0) return "Nobody waits for anybody.";
  const waiting = new Set(edges.map(({ from }) => from)).size;
  const who = `${countText(waiting, "task")} ${waiting === 1 ? "waits" : "wait"}`;
  const rest = hidden === 0 ? "" : ` The drawing leaves out ${hidden} of ${tasks.length} tasks.`;
  return `${who}. An arrow leads from a task to the one that it waits for.${rest}`;
}

const { from, key: keyColumn, mode, to, why } = WAIT_COLUMNS;
const COLUMNS = [
  viewColumn(from, { isRowHeader: true }),
  viewColumn(keyColumn, {
    cell: ({ key }) => (
      <a href={hrefOf("lock", key)}>
        <KeyText name={key} />
      </a>
    ),
  }),
  viewColumn(mode),
  viewColumn(to),
  viewColumn(why),
];

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
          {cyclePhrases(cycle).map((phrase, index) => (
            <span key={index}>
              <PhraseText phrase={phrase} />{" "}
            </span>
          ))}
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
  const tasks = cycle.map((member, id) => ({ ...member, id }));
  const edges = cycle.map(({ key, mode }, from): GraphEdge => {
    return { from, to: (from + 1) % cycle.length, key, mode, why: "holds" };
  });
  return <GraphDrawing layout={graphLayout(tasks, edges)} title="The newest refused deadlock" />;
}
