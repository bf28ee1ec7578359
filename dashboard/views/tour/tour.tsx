/**
 * The tour of a local cluster: acts that hurt it, each with what is promised and, once it happened,
 * what was measured; and next to them the workers, the queue and the tokens while they happen.
 */

import { useState } from "preact/hooks";
import type { KeyView } from "../../../src/index.js";
import { formatDuration } from "../../../src/views/index.js";
import {
  actOnTour,
  type TourAct,
  type TourOutcome,
  type TourState,
  type TourWorker,
} from "../../connection/control.js";
import { usePolled } from "../../connection/polled.js";
import { ActButton } from "../../parts/act-button.js";
import { Badge, type BadgeKind } from "../../parts/badge.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { OtherText } from "../../parts/key-text.js";
import { LeaseBar } from "../../parts/lease-bar.js";
import { announce } from "../../state/announcements.js";
import { useTour } from "./tour-polling.js";

interface Step {
  readonly act: TourAct;
  readonly title: string;
  readonly label: string;
  readonly promise: string;
}

const STEPS: readonly Step[] = [
  {
    act: "killLeader",
    title: "Kill the leader",
    label: "Kill the leader",
    promise:
      "No client loses its lock: time in the cluster stands still while there is no leader. Until another one is elected, nothing is granted.",
  },
  {
    act: "pauseHolder",
    title: "Pause a holder",
    label: "Pause the holder",
    promise:
      "Its lease ends, and the next worker in the queue gets the lock with a larger fencing token. Nobody can stop the write of a process that sleeps; the resource refuses it by its token.",
  },
  {
    act: "stopNode",
    title: "Stop a node",
    label: "Stop a follower",
    promise:
      "With two of three nodes the cluster goes on as before. The node stands still, as if its machine were suspended; it is not cut off from the network.",
  },
];

export function Tour() {
  const { state, problem } = useTour();
  const [refusal, setRefusal] = useState<string>();
  const act = (name: TourAct): void => {
    actOnTour(name).then(
      (why) => setRefusal(why),
      (error: unknown) => setRefusal(error instanceof Error ? error.message : String(error)),
    );
  };
  const trouble = problem ?? refusal;
  return (
    <>
      {trouble !== undefined && (
        <p class="problem" role="alert">
          {problem === undefined ? "Not done" : "The process of holdfast cluster does not answer"}:{" "}
          {trouble}
        </p>
      )}
      {state?.isRunning === true ? (
        <Running state={state} act={act} />
      ) : (
        <>
          <p>
            Three workers share one lock and write to one resource, which has a fence. Then hurt the
            cluster, and see what becomes of leases, queue and fencing tokens. It ends when you
            leave this view.
          </p>
          <ActButton
            label="Begin the tour"
            whyNot={
              state === undefined ? "the process of holdfast cluster was not heard yet" : undefined
            }
            onAct={() => act("begin")}
          />
        </>
      )}
    </>
  );
}

interface RunningProps {
  readonly state: TourState;
  readonly act: (name: TourAct) => void;
}

function Running({ state, act }: RunningProps) {
  const isHurt = state.nodes.some((node) => node.state !== "runs");
  return (
    <>
      <p class="acts">
        <ActButton label="End the tour" whyNot={undefined} onAct={() => act("end")} />{" "}
        <ActButton
          label="Mend the cluster"
          whyNot={isHurt ? busyReason(state) : "all nodes run"}
          onAct={() => act("mend")}
        />
      </p>
      {STEPS.map((step) => (
        <StepSection key={step.act} step={step} state={state} act={act} isHurt={isHurt} />
      ))}
      <h2>Now</h2>
      <Workers state={state} />
      <Queue state={state} />
      <Nodes state={state} />
    </>
  );
}

function busyReason({ isActing }: TourState): string | undefined {
  return isActing ? "wait until what is under way was measured" : undefined;
}

interface StepProps extends RunningProps {
  readonly step: Step;
  readonly isHurt: boolean;
}

function StepSection({ step, state, act, isHurt }: StepProps) {
  const outcome = state.outcomes.find((one) => one.act === step.act);
  const whyNot =
    busyReason(state) ?? (isHurt ? "a node is down: mend the cluster first" : undefined);
  return (
    <section aria-label={step.title}>
      <h2>{step.title}</h2>
      <p>
        <strong>Promised:</strong> {step.promise}
      </p>
      <Measured outcome={outcome} />
      <ActButton label={step.label} whyNot={whyNot} onAct={() => act(step.act)} isDangerous />
    </section>
  );
}

let spoken = "";

function Measured({ outcome }: { readonly outcome: TourOutcome | undefined }) {
  if (outcome === undefined) return null;
  const { state, text } = outcome;
  if (state === "measuring") {
    return (
      <p>
        <Badge kind="busy" word="Measuring" />
      </p>
    );
  }
  if (text !== spoken) {
    spoken = text;
    announce(text);
  }
  return (
    <p class="measured">
      <strong>{state === "done" ? "Measured just now:" : "Not measured:"}</strong> {text}
    </p>
  );
}

const STATES: Readonly<Record<TourWorker["state"], readonly [BadgeKind, string]>> = {
  starts: ["idle", "starts"],
  waits: ["busy", "waits"],
  holds: ["good", "holds the lock"],
  lost: ["warning", "lost the lock"],
  paused: ["bad", "paused"],
};

function Workers({ state }: { readonly state: TourState }) {
  const columns: Column<TourWorker>[] = [
    { id: "name", title: "Worker", isRowHeader: true, cell: ({ name }) => name },
    {
      id: "state",
      title: "State",
      cell: (worker) => {
        const [kind, word] = STATES[worker.state];
        return <Badge kind={kind} word={word} />;
      },
    },
    {
      id: "token",
      title: "Its token",
      isNumeric: true,
      cell: ({ token }) => (token === 0 ? "none yet" : token),
    },
    { id: "accepted", title: "Writes done", isNumeric: true, cell: ({ accepted }) => accepted },
    { id: "refused", title: "Writes refused", isNumeric: true, cell: ({ refused }) => refused },
  ];
  const newest = state.newestToken === 0 ? "none yet" : String(state.newestToken);
  return (
    <DataTable
      caption={`Workers. Newest token that the fence has seen: ${newest}`}
      columns={columns}
      rows={state.workers}
      rowKey={({ name }) => name}
      empty="They are being started."
    />
  );
}

interface Place {
  readonly who: string;
  readonly what: string;
  readonly forMs: number;
  readonly lease: { readonly leaseMs: number; readonly ttlMs: number } | undefined;
}

/** As the cluster reports it. */
function Queue({ state }: { readonly state: TourState }) {
  const { answer, atMs } = usePolled<KeyView>(
    (admin, signal) => admin.inspect(state.key, { signal }),
    {
      intervalMs: 500,
      question: state.key,
    },
  );
  const holds = (answer?.holds ?? []).map(
    (hold): Place => ({
      who: hold.sessionName,
      what: "holds it",
      forMs: hold.heldMs,
      lease: hold,
    }),
  );
  const waiters = (answer?.waiters ?? []).map(
    (waiter, at): Place => ({
      who: waiter.sessionName,
      what: `waits, number ${at + 1}`,
      forMs: waiter.waitingMs,
      lease: undefined,
    }),
  );
  const columns: Column<Place>[] = [
    { id: "who", title: "Session", isRowHeader: true, cell: ({ who }) => <OtherText text={who} /> },
    { id: "what", title: "Place", cell: ({ what }) => what },
    { id: "for", title: "For", isNumeric: true, cell: ({ forMs }) => formatDuration(forMs) },
    {
      id: "lease",
      title: "Lease left",
      cell: ({ lease }) =>
        lease !== undefined && <LeaseBar leaseMs={lease.leaseMs} ttlMs={lease.ttlMs} atMs={atMs} />,
    },
  ];
  return (
    <DataTable
      caption={`The lock ${state.key}, as the cluster reports it`}
      columns={columns}
      rows={[...holds, ...waiters]}
      rowKey={({ who, what }) => `${who} ${what}`}
      empty="Nobody holds it or waits."
    />
  );
}

const NODE_STATES = {
  runs: ["good", "runs"],
  killed: ["bad", "killed"],
  stopped: ["warning", "stopped"],
} as const;

function Nodes({ state }: { readonly state: TourState }) {
  const columns: Column<TourState["nodes"][number]>[] = [
    { id: "node", title: "Node", isRowHeader: true, cell: ({ id }) => `Node ${id}` },
    {
      id: "state",
      title: "State",
      cell: (node) => {
        const [kind, word] = NODE_STATES[node.state];
        return <Badge kind={kind} word={word} />;
      },
    },
  ];
  return (
    <DataTable
      caption="Nodes"
      columns={columns}
      rows={state.nodes}
      rowKey={({ id }) => id}
      empty="No node."
    />
  );
}
