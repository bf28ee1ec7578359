/** Who holds a lock and who waits for it, in order, as tables. */
import type { ExplainView, HoldView, KeyView, WaiterView } from "../../../src/index.js";
import {
  cooldownText,
  countText,
  explainPhrases,
  HOLD_COLUMNS,
  isOfSession,
  NOTHING,
  WAITER_COLUMNS,
  whoPhrase,
} from "../../../src/views/index.js";
import { ActButton } from "../../parts/act-button.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { LeaseBar } from "../../parts/lease-bar.js";
import { PhraseText } from "../../parts/phrase-text.js";
import { viewColumn } from "../../parts/view-column.js";

type Client = Pick<HoldView, "session" | "sessionName" | "identity">;

export interface LockTableProps {
  readonly view: KeyView;
  readonly atMs: number;
  readonly whyNotEnd: (client: Client) => string | undefined;
  readonly onEnd: (client: Client) => void;
}

export function Holders({ view, atMs, whyNotEnd, onEnd }: LockTableProps) {
  const { who, lease, ...others } = HOLD_COLUMNS;
  const columns: readonly Column<HoldView>[] = [
    viewColumn(who, { isRowHeader: true, cell: (hold) => <Who client={hold} /> }),
    viewColumn(others.mode),
    viewColumn(others.session),
    viewColumn(others.for),
    viewColumn(lease, { isNumeric: false, cell: (hold) => <LeaseBar {...hold} atMs={atMs} /> }),
    viewColumn(others.token),
    viewColumn(others.remarks),
    {
      id: "end",
      title: "Act",
      cell: (hold) =>
        isOfSession(hold) ? (
          <EndButton client={hold} whyNot={whyNotEnd(hold)} onEnd={onEnd} />
        ) : (
          NOTHING
        ),
    },
  ];
  return (
    <>
      <DataTable
        caption="Holders"
        columns={columns}
        rows={view.holds}
        rowKey={({ token, session, sequence }) => `${token} ${session} ${sequence}`}
        empty="Nobody holds it."
      />
      {view.cooldowns.length > 0 && <p>It is {view.cooldowns.map(cooldownText).join(", and ")}.</p>}
    </>
  );
}

export function Queue({
  view,
  whyNotEnd,
  onEnd,
  explained,
}: LockTableProps & { readonly explained: readonly ExplainView[] }) {
  const reasons = new Map(explained.map((each) => [idOf(each.request), each]));
  const { place, who, mode, request, remarks } = WAITER_COLUMNS;
  const columns: readonly Column<WaiterView>[] = [
    viewColumn(place),
    viewColumn(who, { isRowHeader: true, cell: (waiter) => <Who client={waiter} /> }),
    viewColumn(mode),
    viewColumn(request, { isNumeric: false }),
    viewColumn(WAITER_COLUMNS.for),
    {
      id: "why",
      title: "Why",
      cell: (waiter, index) => <Why place={index} explained={reasons.get(idOf(waiter))} />,
    },
    viewColumn(remarks),
    {
      id: "end",
      title: "Act",
      cell: (waiter) => <EndButton client={waiter} whyNot={whyNotEnd(waiter)} onEnd={onEnd} />,
    },
  ];
  const rest = (view.truncated?.waiters ?? 0) - view.waiters.length;
  return (
    <DataTable
      caption={rest > 0 ? `Queue; ${countText(rest, "more request")} after these` : "Queue"}
      columns={columns}
      rows={view.waiters}
      rowKey={({ session, sequence }) => `${session}/${sequence}`}
      empty="Nobody waits."
    />
  );
}

function idOf(request: { readonly session: number; readonly sequence: number } | null): string {
  return request === null ? "" : `${request.session}/${request.sequence}`;
}

interface WhyProps {
  /** In the queue, from 0. */
  readonly place: number;
  readonly explained: ExplainView | undefined;
}

function Why({ place, explained }: WhyProps) {
  const phrases = explained === undefined ? [] : explainPhrases(explained);
  return (
    <span class="sentence">
      {phrases.map((phrase, index) => (
        <span key={index}>
          <PhraseText phrase={phrase} />{" "}
        </span>
      ))}
      {explained === undefined && place > 0 && `${countText(place, "request")} ahead`}
    </span>
  );
}

type Named = Client & Partial<Pick<HoldView, "holder" | "leaseOwner">>;

function Who({ client }: { readonly client: Named }) {
  return (
    <span class="who">
      <PhraseText phrase={whoPhrase(client)} />
    </span>
  );
}

interface EndButtonProps {
  readonly client: Client;
  readonly whyNot: string | undefined;
  readonly onEnd: (client: Client) => void;
}

function EndButton({ client, whyNot, onEnd }: EndButtonProps) {
  return (
    <ActButton
      label={`End session ${client.session} …`}
      whyNot={whyNot}
      onAct={() => onEnd(client)}
      isDangerous
    />
  );
}
