/**
 * Who held a lock before: bars of holders over time, how long holds and waits took, and a table of
 * the periods with their tokens. It is what the answering node remembers, and says when that is not
 * all.
 */
import { useEffect } from "preact/hooks";
import type { History, Tenure } from "../../../src/index.js";
import { usePolled } from "../../connection/polled.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { durationText } from "../../parts/duration-text.js";
import { OtherText } from "../../parts/key-text.js";
import { phraseText, whoPhrase } from "../../parts/phrase.js";
import { PhraseText } from "../../parts/phrase-text.js";
import { Problem } from "../../parts/problem.js";
import { Time, timeText } from "../../parts/time.js";
import { useNow } from "../../state/clock.js";
import { type Distribution, distributionOf, distributionText } from "./distribution.js";
import { type Lane, tenureBars } from "./tenure-bars.js";

const INTERVAL_MS = 5_000;
const TENURES_MAX = 100;

const ENDS: Readonly<Record<string, string>> = {
  released: "released",
  expired: "its lease ran out",
  closed: "its client closed",
  cancelled: "cancelled",
  maxHold: "held for as long as allowed",
  revoked: "revoked",
  stolen: "stolen",
  moved: "handed over",
};

/** `changes`: another number asks at once. */
export function LockHistory({
  name,
  changes,
}: {
  readonly name: string;
  readonly changes: number;
}) {
  const { answer, error, refresh } = usePolled<History>(
    (admin, signal) => admin.history(name, { limit: TENURES_MAX, signal }),
    { intervalMs: INTERVAL_MS, question: name },
  );
  useEffect(() => {
    if (changes > 0) refresh();
  }, [changes]);
  return (
    <>
      <h2>History</h2>
      {error !== undefined && <Problem error={error} />}
      {answer !== undefined && <Known history={answer} />}
    </>
  );
}

function Known({ history: { tenures, isTruncated, lost } }: { readonly history: History }) {
  if (tenures.length === 0) {
    return (
      <p>
        {isTruncated
          ? "This node knows nothing about it; earlier records are no longer kept."
          : "It was never held."}
      </p>
    );
  }
  const ended = tenures.filter(({ reason }) => reason !== undefined);
  const waited = tenures.flatMap(({ waitedMs }) => (waitedMs === null ? [] : [waitedMs]));
  return (
    <>
      <Bars tenures={tenures} />
      <div class="distributions">
        <Times title="How long it was held" noun="hold" times={ended.map(({ heldMs }) => heldMs)} />
        <Times title="How long requests waited" noun="wait" times={waited} />
      </div>
      <Periods tenures={tenures} />
      {isTruncated && (
        <p class="hint">
          There are older ones, or there may have been: a node shows the last {TENURES_MAX} that it
          remembers, and one that was started with an audit remembers across restarts.
        </p>
      )}
      {lost.length > 0 && (
        <p class="problem">The audit of this node is damaged: some records of it are lost.</p>
      )}
    </>
  );
}

const BAR_WIDTH = 600;
const LANE_HEIGHT = 22;

function Bars({ tenures }: { readonly tenures: readonly Tenure[] }) {
  const { lanes, beginWallMs, endWallMs } = tenureBars(tenures, useNow());
  return (
    <figure class="tenures">
      <figcaption>
        Holders from {timeText(beginWallMs)} to {timeText(endWallMs)}; the table below says the same
      </figcaption>
      <ul>
        {lanes.map((lane) => (
          <li key={lane.holder?.session ?? "others"}>
            <span class="lane-name">
              {lane.holder === undefined ? (
                "others"
              ) : (
                <PhraseText phrase={whoPhrase(lane.holder)} />
              )}
            </span>
            <LaneBars lane={lane} />
          </li>
        ))}
      </ul>
    </figure>
  );
}

function LaneBars({ lane }: { readonly lane: Lane }) {
  return (
    <svg
      viewBox={`0 0 ${BAR_WIDTH} ${LANE_HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <rect class="bar-whole" width={BAR_WIDTH} height={LANE_HEIGHT} />
      {lane.bars.map(({ tenure, from, width }) => (
        <rect
          key={tenure.token}
          class={tenure.reason === undefined ? "tenure tenure-held" : "tenure"}
          x={(from * BAR_WIDTH).toFixed(1)}
          y="3"
          width={(width * BAR_WIDTH).toFixed(1)}
          height={LANE_HEIGHT - 6}
        >
          <title>{`${phraseText(whoPhrase(tenure))}, ${durationText(tenure.heldMs)}, token ${tenure.token}`}</title>
        </rect>
      ))}
    </svg>
  );
}

interface TimesProps {
  readonly title: string;
  readonly noun: string;
  readonly times: readonly number[];
}

function Times({ title, noun, times }: TimesProps) {
  const found = distributionOf(times);
  const columns: readonly Column<Distribution["ranges"][number]>[] = [
    { id: "range", title: "Time", isRowHeader: true, cell: ({ label }) => label },
    { id: "count", title: "Number", isNumeric: true, cell: ({ count }) => count },
    {
      id: "bar",
      title: "Share",
      cell: ({ share }) => (
        <svg
          class="share"
          viewBox="0 0 100 8"
          preserveAspectRatio="none"
          role="img"
          aria-label={`${Math.round(share * 100)} % of the fullest range`}
        >
          <rect class="bar-part" width={(share * 100).toFixed(1)} height="8" />
        </svg>
      ),
    },
  ];
  return (
    <section>
      <h3>{title}</h3>
      <p>{distributionText(found, noun)}</p>
      {found.count > 1 && (
        <DataTable
          caption={title}
          isCaptionHidden
          columns={columns}
          rows={found.ranges}
          rowKey={({ label }) => label}
          empty=""
        />
      )}
    </section>
  );
}

function Periods({ tenures }: { readonly tenures: readonly Tenure[] }) {
  const columns: readonly Column<Tenure>[] = [
    {
      id: "granted",
      title: "Granted",
      isRowHeader: true,
      cell: ({ grantedWallMs }) => <Time wallMs={grantedWallMs} />,
    },
    {
      id: "who",
      title: "Holder",
      cell: (tenure) => (
        <span class="who">
          <PhraseText phrase={whoPhrase(tenure)} />
        </span>
      ),
    },
    { id: "mode", title: "Mode", cell: ({ mode }) => mode },
    {
      id: "waited",
      title: "Waited",
      isNumeric: true,
      cell: ({ waitedMs }) => (waitedMs === null ? "–" : durationText(waitedMs)),
    },
    { id: "held", title: "Held", isNumeric: true, cell: ({ heldMs }) => durationText(heldMs) },
    {
      id: "end",
      title: "End",
      cell: ({ reason, orderedBy }) => (
        <>
          {reason === undefined ? "held" : (ENDS[reason] ?? reason)}
          {orderedBy !== "" && (
            <>
              {" by "}
              <OtherText text={orderedBy} />
            </>
          )}
        </>
      ),
    },
    { id: "token", title: "Token", isNumeric: true, cell: ({ token }) => token },
  ];
  return (
    <DataTable
      caption="Periods, newest first"
      columns={columns}
      rows={tenures}
      rowKey={({ token, session, sequence }) => `${token} ${session} ${sequence}`}
      empty="It was never held."
    />
  );
}
