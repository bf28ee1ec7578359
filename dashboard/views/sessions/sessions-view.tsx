/** Every live session, one line each, in the order of their numbers, a hundred at a time. */
import { useState } from "preact/hooks";
import type { SessionsView as SessionsPage, SessionView } from "../../../src/index.js";
import { countText, NOTHING, SESSION_COLUMNS, whoPhrase } from "../../../src/views/index.js";
import { useCluster } from "../../connection/context.js";
import { usePolled } from "../../connection/polled.js";
import { whyNotEnd } from "../../connection/session-rights.js";
import { ActButton } from "../../parts/act-button.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { EndSession } from "../../parts/end-session.js";
import { LeaseBar } from "../../parts/lease-bar.js";
import { Problem } from "../../parts/problem.js";
import type { Settled } from "../../parts/settle.js";
import { StillRows } from "../../parts/still-rows.js";
import { viewColumn } from "../../parts/view-column.js";
import type { Place } from "../../state/router.js";
import { hrefOf } from "../../state/router.js";

const INTERVAL_MS = 1_000;
const PAGE_SESSIONS = 100;

export function SessionsView({ query }: Pick<Place, "query">) {
  const after = Number(query.get("after") ?? 0);
  const from = Number.isSafeInteger(after) && after > 0 ? after : 0;
  const { answer, atMs, error, refresh } = usePolled<SessionsPage>(
    (admin, signal) => admin.sessionsPage({ after: from, limit: PAGE_SESSIONS, signal }),
    { intervalMs: INTERVAL_MS, question: String(from) },
  );
  const [ending, setEnding] = useState<SessionView>();
  const { act } = useCluster();
  return (
    <>
      {error !== undefined && <Problem error={error} />}
      {answer === undefined ? (
        error === undefined && <p>Asking the cluster …</p>
      ) : (
        <Page page={answer} from={from} atMs={atMs} onEnd={setEnding} />
      )}
      {ending !== undefined && (
        <EndSession
          session={ending.session}
          who={whoPhrase({ ...ending, sessionName: ending.name })}
          has={ending}
          act={act}
          onClose={() => {
            setEnding(undefined);
            refresh();
          }}
        />
      )}
    </>
  );
}

interface PageProps {
  readonly page: SessionsPage;
  readonly from: number;
  readonly atMs: number;
  readonly onEnd: (session: SessionView) => void;
}

function Page({ page, from, atMs, onEnd }: PageProps) {
  const { viewer, whyNot } = useCluster();
  const whyNotAll = whyNot("operate", "everything");
  const whyNotThis = ({ identity }: SessionView): string | undefined =>
    whyNotEnd(viewer?.name, identity, whyNotAll);
  return (
    <>
      <StillRows
        rows={page.sessions}
        keyOf={({ session }) => session}
        list={String(from)}
        noun="session"
      >
        {(settled) => (
          <DataTable
            caption={`${countText(page.sessions.length, "session")}${from === 0 ? "" : `, after number ${from}`}`}
            columns={columnsFor(settled, atMs, whyNotThis, onEnd)}
            rows={settled.rows}
            rowKey={({ session }) => session}
            empty={from === 0 ? "No client has a session." : "There are no more."}
          />
        )}
      </StillRows>
      {(from > 0 || page.next !== null) && (
        <nav class="pages" aria-label="Pages">
          {from > 0 && <a href={hrefOf("sessions")}>First page</a>}
          {page.next !== null && (
            <a href={hrefOf("sessions", "", { after: String(page.next) })}>Next {PAGE_SESSIONS}</a>
          )}
        </nav>
      )}
    </>
  );
}

function columnsFor(
  { gone }: Settled<SessionView>,
  atMs: number,
  whyNotThis: (session: SessionView) => string | undefined,
  onEnd: (session: SessionView) => void,
): readonly Column<SessionView>[] {
  const { session, name, identity, address, node, lease, heard, holds, waits, remarks } =
    SESSION_COLUMNS;
  return [
    viewColumn(name, { isRowHeader: true }),
    viewColumn(session),
    viewColumn(identity),
    viewColumn(address),
    viewColumn(node),
    viewColumn(lease, {
      isNumeric: false,
      cell: (row) => (gone.has(row.session) ? "ended" : <LeaseBar {...row} atMs={atMs} />),
    }),
    // A column of their own would leave no room next to the longest names.
    viewColumn(heard, {
      cell: (row) => {
        const remark = row.isRevoked ? "" : remarks.cell(row);
        return remark === "" ? heard.cell(row) : `${heard.cell(row)}, ${remark}`;
      },
    }),
    viewColumn(holds),
    viewColumn(waits),
    {
      id: "end",
      title: "Act",
      cell: (row) => {
        if (gone.has(row.session)) return NOTHING;
        if (row.isRevoked) return remarks.cell(row);
        return (
          <ActButton
            label={`End ${row.session}`}
            whyNot={whyNotThis(row)}
            onAct={() => onEnd(row)}
            isDangerous
          />
        );
      },
    },
  ];
}
