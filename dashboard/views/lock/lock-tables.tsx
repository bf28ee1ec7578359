/** Who holds a lock and who waits for it, in order, as tables. */
import type { ExplainView, HoldView, KeyView, WaiterView } from "../../../src/index.js";
import { ActButton } from "../../parts/act-button.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { durationText } from "../../parts/duration-text.js";
import { OtherText } from "../../parts/key-text.js";
import { LeaseBar } from "../../parts/lease-bar.js";
import { countText, type Phrase, whoPhrase } from "../../parts/phrase.js";
import { PhraseText } from "../../parts/phrase-text.js";
import { explainPhrases } from "./explain-phrase.js";

type Client = Pick<HoldView, "session" | "sessionName" | "identity">;

export interface LockTableProps {
  readonly view: KeyView;
  readonly atMs: number;
  readonly whyNotEnd: (client: Client) => string | undefined;
  readonly onEnd: (client: Client) => void;
}

export function Holders({ view, atMs, whyNotEnd, onEnd }: LockTableProps) {
  const columns: readonly Column<HoldView>[] = [
    { id: "who", title: "Held by", isRowHeader: true, cell: (hold) => <Who client={hold} /> },
    { id: "mode", title: "Mode", cell: modeText },
    {
      id: "session",
      title: "Session",
      isNumeric: true,
      cell: (hold) => (isOfSession(hold) ? hold.session : "–"),
    },
    { id: "for", title: "For", isNumeric: true, cell: ({ heldMs }) => durationText(heldMs) },
    { id: "lease", title: "Lease left", cell: (hold) => <LeaseBar {...hold} atMs={atMs} /> },
    { id: "token", title: "Token", isNumeric: true, cell: ({ token }) => token },
    { id: "remarks", title: "Remarks", cell: (hold) => <Remarks phrase={holdRemarks(hold)} /> },
    {
      id: "end",
      title: "Act",
      cell: (hold) =>
        isOfSession(hold) ? (
          <EndButton client={hold} whyNot={whyNotEnd(hold)} onEnd={onEnd} />
        ) : (
          "–"
        ),
    },
  ];
  const closed = view.closings.map(({ endsInMs, token }) => {
    return `closed for ${durationText(endsInMs)} more after token ${token}`;
  });
  return (
    <>
      <DataTable
        caption="Holders"
        columns={columns}
        rows={view.holds}
        rowKey={({ token, session, sequence }) => `${token} ${session} ${sequence}`}
        empty="Nobody holds it."
      />
      {closed.length > 0 && <p>It is {closed.join(", and ")}.</p>}
    </>
  );
}

export function Queue({
  view,
  whyNotEnd,
  onEnd,
  explained,
}: LockTableProps & { readonly explained: readonly ExplainView[] }) {
  const places = new Map(view.waiters.map((waiter, index) => [waiter, index]));
  const reasons = new Map(explained.map((each) => [idOf(each.request), each]));
  const columns: readonly Column<WaiterView>[] = [
    {
      id: "place",
      title: "Place",
      isNumeric: true,
      cell: (waiter) => (places.get(waiter) ?? 0) + 1,
    },
    { id: "who", title: "Waits", isRowHeader: true, cell: (waiter) => <Who client={waiter} /> },
    { id: "mode", title: "Mode", cell: modeText },
    { id: "request", title: "Request", cell: ({ session, sequence }) => `${session}/${sequence}` },
    { id: "for", title: "For", isNumeric: true, cell: ({ waitingMs }) => durationText(waitingMs) },
    {
      id: "why",
      title: "Why",
      cell: (waiter) => (
        <Why
          waiter={waiter}
          place={places.get(waiter) ?? 0}
          explained={reasons.get(idOf(waiter))}
        />
      ),
    },
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
  readonly waiter: WaiterView;
  readonly place: number;
  readonly explained: ExplainView | undefined;
}

function Why({ waiter, place, explained }: WhyProps) {
  const remarks = <Remarks phrase={waiterRemarks(waiter)} />;
  if (explained === undefined) {
    const ahead = place === 0 ? "" : `${countText(place, "request")} ahead`;
    return (
      <span class="sentence">
        {ahead} {remarks}
      </span>
    );
  }
  return (
    <span class="sentence">
      {explainPhrases(explained).map((phrase, index) => (
        <span key={index}>
          <PhraseText phrase={phrase} />{" "}
        </span>
      ))}
      {remarks}
    </span>
  );
}

function isOfSession({ holder }: HoldView): boolean {
  return holder === "session";
}

type Shown = Client & Partial<Pick<HoldView, "holder" | "leaseOwner">>;

function Who({ client }: { readonly client: Shown }) {
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

function modeText({ mode, permits }: Pick<HoldView, "mode" | "permits">): string {
  return mode === "permits" ? countText(permits, "permit") : mode;
}

function Remarks({ phrase }: { readonly phrase: readonly Phrase[] }) {
  return (
    <>
      {phrase.map((each, index) => (
        <span key={index}>
          {index > 0 && ", "}
          {each.map((part) =>
            typeof part === "string" ? part : "other" in part && <OtherText text={part.other} />,
          )}
        </span>
      ))}
    </>
  );
}

function holdRemarks(hold: HoldView): readonly Phrase[] {
  const { slots, endsInMs, isRevoked, value, leaseOwner, leaseMs } = hold;
  const remarks: Phrase[] = [];
  if (slots.length > 0)
    remarks.push([`${slots.length === 1 ? "slot" : "slots"} ${slots.join(" ")}`]);
  if (isRevoked) remarks.push(["being revoked"]);
  // The end of a lease itself is shown as what is left of it.
  const isOwnEnd = leaseOwner !== "" && endsInMs === leaseMs;
  if (endsInMs !== null && !isOwnEnd) remarks.push([`ends in ${durationText(endsInMs)}`]);
  if (value !== "") remarks.push(["value ", { other: value }]);
  return remarks;
}

function waiterRemarks({ isUpgrade, priority, endsInMs }: WaiterView): readonly Phrase[] {
  const remarks: Phrase[] = [];
  if (isUpgrade) remarks.push(["an upgrade"]);
  if (priority > 0) remarks.push([`priority ${priority}`]);
  if (endsInMs !== null) remarks.push([`gives up in ${durationText(endsInMs)}`]);
  return remarks;
}
