/** Every live session, one line each, in the order of their numbers, a hundred at a time. */
import { useState } from "preact/hooks";
import type { SessionsView as SessionsPage, SessionView } from "../../../src/index.js";
import { useCluster } from "../../connection/context.js";
import { usePolled } from "../../connection/polled.js";
import { whyNotEnd } from "../../connection/session-rights.js";
import { ActButton } from "../../parts/act-button.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { durationText } from "../../parts/duration-text.js";
import { EndSession } from "../../parts/end-session.js";
import { OtherText } from "../../parts/key-text.js";
import { LeaseBar } from "../../parts/lease-bar.js";
import { countText, whoPhrase } from "../../parts/phrase.js";
import { Problem } from "../../parts/problem.js";
import type { Settled } from "../../parts/settle.js";
import { StillRows } from "../../parts/still-rows.js";
import type { Place } from "../../state/router.js";
import { hrefOf } from "../../state/router.js";

const INTERVAL_MS = 1_000;
const PAGE_SESSIONS = 100;
/** A session whose client says nothing for this part of its lease missed a renewal. */
const QUIET_PART = 0.5;

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
  return [
    {
      id: "name",
      title: "Name",
      isRowHeader: true,
      cell: ({ name }) => (name === "" ? "–" : <OtherText text={name} />),
    },
    { id: "session", title: "Number", isNumeric: true, cell: ({ session }) => session },
    { id: "identity", title: "Identity", cell: ({ identity }) => <OtherText text={identity} /> },
    {
      id: "address",
      title: "Address",
      cell: ({ address }) => (address === "" ? "–" : <OtherText text={address} />),
    },
    { id: "node", title: "Node", isNumeric: true, cell: ({ node }) => (node === 0 ? "–" : node) },
    {
      id: "lease",
      title: "Lease left",
      cell: (row) => (gone.has(row.session) ? "ended" : <LeaseBar {...row} atMs={atMs} />),
    },
    {
      id: "idle",
      title: "Last heard",
      isNumeric: true,
      cell: ({ idleMs, ttlMs }) =>
        `${durationText(idleMs)} ago${idleMs > ttlMs * QUIET_PART ? ", quiet" : ""}`,
    },
    { id: "holds", title: "Holds", isNumeric: true, cell: ({ holds }) => holds },
    { id: "waits", title: "Waits", isNumeric: true, cell: ({ waits }) => waits },
    {
      id: "end",
      title: "Act",
      cell: (row) => {
        if (gone.has(row.session)) return "–";
        if (row.isRevoked) return "being ended";
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
