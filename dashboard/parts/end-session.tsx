/** The dialog that ends a session, with everything that it holds and waits for. */
import type { Admin } from "../../src/index.js";
import { countText, type Phrase } from "../../src/views/index.js";
import { ForceDialog } from "./force-dialog.js";
import { PhraseText } from "./phrase-text.js";

export interface EndSessionProps {
  readonly session: number;
  readonly who: Phrase;
  /** What it has; `undefined` if that is not known here. */
  readonly has?: { readonly holds: number; readonly waits: number } | undefined;
  readonly act: <Result>(act: (admin: Admin) => Promise<Result>) => Promise<Result>;
  readonly onClose: () => void;
}

export function EndSession({ session, who, has, act, onClose }: EndSessionProps) {
  return (
    <ForceDialog
      title={`End session ${session}`}
      verb="End the session"
      onClose={onClose}
      act={async (force) => {
        await act((admin) => admin.endSession(session, force));
        return force.graceMs > 0
          ? `Session ${session} was asked to end.`
          : `Session ${session} ends as soon as its lease allows.`;
      }}
    >
      <p>
        Everything that <PhraseText phrase={who} /> has is taken away
        {has !== undefined &&
          `: ${countText(has.holds, "hold")}, ${countText(has.waits, "waiting request")}`}
        . Its client learns this, and may open another session.
      </p>
    </ForceDialog>
  );
}
