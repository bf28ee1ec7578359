/**
 * One lock: who holds it, who waits and why, who held it before, and how long that usually takes.
 * It is read once a second, and at once when it changes.
 */
import { useState } from "preact/hooks";
import type { ExplainView, HoldView, KeyView } from "../../../src/index.js";
import {
  countText,
  explainPhrases,
  limitText,
  phraseText,
  revokedText,
  sentence,
  whoPhrase,
} from "../../../src/views/index.js";
import { useCluster } from "../../connection/context.js";
import { useKeyChanges } from "../../connection/key-changes.js";
import { usePolled } from "../../connection/polled.js";
import { whyNotEnd } from "../../connection/session-rights.js";
import { ActButton } from "../../parts/act-button.js";
import { EndSession } from "../../parts/end-session.js";
import { ForceDialog } from "../../parts/force-dialog.js";
import { KeyText } from "../../parts/key-text.js";
import { PhraseText } from "../../parts/phrase-text.js";
import { Problem } from "../../parts/problem.js";
import type { Place } from "../../state/router.js";
import { hrefOf } from "../../state/router.js";
import { LockHistory } from "./lock-history.js";
import { Holders, Queue } from "./lock-tables.js";

const INTERVAL_MS = 1_000;
/** Waiting requests whose reason is asked for; the others wait for these. */
const EXPLAINED_MAX = 10;

/** A session, to be ended, as one of its holds or requests names it. */
export type Client = Pick<HoldView, "session" | "sessionName" | "identity">;

interface LockAnswer {
  readonly view: KeyView;
  /** What stands before a new request. */
  readonly newcomer: ExplainView;
  /** What stands before the first waiting requests, in order. */
  readonly explained: readonly ExplainView[];
  readonly newestToken: number;
}

export function LockView({ argument: key }: Pick<Place, "argument">) {
  const { answer, atMs, error, refresh } = usePolled<LockAnswer>(
    async (admin, signal) => {
      const view = await admin.inspect(key, { signal });
      const first = view.waiters.slice(0, EXPLAINED_MAX);
      const [newcomer, verified, ...explained] = await Promise.all([
        admin.explain(key, { signal }),
        admin.verify(key, 0, { signal }),
        ...first.map((request) => admin.explain(key, { request, signal })),
      ]);
      return { view, newcomer, explained, newestToken: verified.newestToken };
    },
    { intervalMs: INTERVAL_MS, question: key },
  );
  const [changes, setChanges] = useState(0);
  useKeyChanges(key, () => {
    refresh();
    setChanges((count) => count + 1);
  });
  const [act, setAct] = useState<"revoke" | Client>();
  return (
    <>
      <p class="back">
        <a href={hrefOf("locks")}>All locks</a>
      </p>
      <h1>
        Lock <KeyText name={key} />
      </h1>
      {error !== undefined && <Problem error={error} />}
      {answer === undefined ? (
        error === undefined && <p>Asking the cluster …</p>
      ) : (
        <>
          <Summary answer={answer} onRevoke={() => setAct("revoke")} />
          <Present answer={answer} atMs={atMs} onEnd={setAct} />
        </>
      )}
      <LockHistory name={key} changes={changes} />
      {act !== undefined && (
        <Acts
          name={key}
          act={act}
          onClose={() => {
            setAct(undefined);
            refresh();
          }}
        />
      )}
    </>
  );
}

interface SummaryProps {
  readonly answer: LockAnswer;
  readonly onRevoke: () => void;
}

function Summary({ answer: { view, newcomer, newestToken }, onRevoke }: SummaryProps) {
  const { whyNot } = useCluster();
  const holds = view.truncated?.holds ?? view.holds.length;
  const waiters = view.truncated?.waiters ?? view.waiters.length;
  const isIdle = holds === 0 && view.cooldowns.length === 0;
  const off = isIdle ? "nobody holds it" : whyNot("operate", { key: view.key });
  return (
    <>
      <p>
        {holds === 0 ? "Not held" : countText(holds, "holder")}, {countText(waiters, "request")}{" "}
        waiting.
        {view.kind === "semaphore" && (
          <>
            {" "}
            <PhraseText phrase={sentence([limitText(view.limit)])} />
          </>
        )}
        {newestToken > 0 && (
          <>
            {" "}
            The newest fencing token is <span class="number">{newestToken}</span>.
          </>
        )}
      </p>
      <p>
        {explainPhrases(newcomer).map((phrase, index) => (
          <span key={index}>
            <PhraseText phrase={phrase} />{" "}
          </span>
        ))}
      </p>
      <ActButton label="Revoke …" whyNot={off} onAct={onRevoke} isDangerous />
    </>
  );
}

interface PresentProps {
  readonly answer: LockAnswer;
  readonly atMs: number;
  readonly onEnd: (client: Client) => void;
}

function Present({ answer: { view, explained }, atMs, onEnd }: PresentProps) {
  const { viewer, whyNot } = useCluster();
  const whyNotAll = whyNot("operate", "everything");
  const whyNotThis = ({ identity }: Client): string | undefined =>
    whyNotEnd(viewer?.name, identity, whyNotAll);
  const tables = { view, atMs, whyNotEnd: whyNotThis, onEnd };
  return (
    <>
      <Holders {...tables} />
      <Queue {...tables} explained={explained} />
    </>
  );
}

interface ActsProps {
  readonly name: string;
  readonly act: "revoke" | Client;
  readonly onClose: () => void;
}

function Acts({ name, act, onClose }: ActsProps) {
  const cluster = useCluster();
  if (act !== "revoke") {
    return (
      <EndSession session={act.session} who={whoPhrase(act)} act={cluster.act} onClose={onClose} />
    );
  }
  return (
    <ForceDialog
      title="Revoke this lock"
      verb="Revoke"
      onClose={onClose}
      act={async (force) => {
        const done = await cluster.act((admin) => admin.revoke({ key: name }, force));
        return phraseText(sentence([revokedText(done)]));
      }}
    >
      <p>
        All holds of <KeyText name={name} /> are taken away. Its holders lose it, and the next
        request is granted.
      </p>
    </ForceDialog>
  );
}
