/**
 * Who held a lock before: bars of holders over time, how long holds and waits took, and a table of
 * the tenures with their tokens. It is what the answering node remembers, and says when that is not
 * all.
 */
import { useEffect } from "preact/hooks";
import type { History, Tenure } from "../../../src/index.js";
import {
  formatDuration,
  historyEnd,
  phraseText,
  sentence,
  TENURE_COLUMNS,
  whoPhrase,
} from "../../../src/views/index.js";
import { usePolled } from "../../connection/polled.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { PhraseText } from "../../parts/phrase-text.js";
import { Problem } from "../../parts/problem.js";
import { Time, timeText } from "../../parts/time.js";
import { viewColumn } from "../../parts/view-column.js";
import { useNow } from "../../state/clock.js";
import { type Distribution, distributionOf, distributionText } from "./distribution.js";
import { type Lane, tenureBars } from "./tenure-bars.js";

const INTERVAL_MS = 5_000;
const TENURES_MAX = 100;

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
      {answer !== undefined && <Known name={name} history={answer} />}
    </>
  );
}

function Known({ name, history }: { readonly name: string; readonly history: History }) {
  const { tenures, isTruncated, lost } = history;
  const { length: count } = tenures;
  const isFull = count === TENURES_MAX;
  const end = historyEnd({ key: name, count, isFull, isTruncated, lost });
  const ended = tenures.filter(({ reason }) => reason !== undefined);
  return (
    <>
      {count > 0 && (
        <>
          <Bars tenures={tenures} />
          <div class="distributions">
            <Times
              title="How long it was held"
              noun="hold"
              times={ended.map(({ heldMs }) => heldMs)}
            />
            <Times
              title="How long requests waited"
              noun="wait"
              times={tenures.map(({ waitedMs }) => waitedMs)}
            />
          </div>
          <TenureTable tenures={tenures} />
        </>
      )}
      {end.map((clause, at) => (
        <p key={at} class="hint">
          <PhraseText phrase={sentence(clause)} />
        </p>
      ))}
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
          <title>{`${phraseText(whoPhrase(tenure))}, ${formatDuration(tenure.heldMs)}, token ${tenure.token}`}</title>
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

function TenureTable({ tenures }: { readonly tenures: readonly Tenure[] }) {
  const { who, ...others } = TENURE_COLUMNS;
  const columns: readonly Column<Tenure>[] = [
    {
      id: "granted",
      title: "Granted",
      isRowHeader: true,
      cell: ({ grantedWallMs }) => <Time wallMs={grantedWallMs} />,
    },
    viewColumn(who, {
      cell: (tenure) => (
        <span class="who">
          <PhraseText phrase={whoPhrase(tenure)} />
        </span>
      ),
    }),
    ...Object.values(others).map((column) => viewColumn(column)),
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
