/**
 * Asks before something is taken away from a client: how long it may give it back itself, and the
 * text that it gets. Stays open with a sentence when the act fails.
 */
import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { announce } from "../state/announcements.js";
import { Dialog } from "./dialog.js";
import { Problem } from "./problem.js";

export interface Force {
  readonly graceMs: number;
  readonly reason: string;
}

export interface ForceDialogProps {
  readonly title: string;
  /** What will happen. */
  readonly children: ComponentChildren;
  /** On the button that does it. */
  readonly verb: string;
  /** Resolves to what was done, in a sentence. */
  readonly act: (force: Force) => Promise<string>;
  readonly onClose: () => void;
}

const GRACE_S_DEFAULT = 10;
const GRACE_S_MAX = 3_600;
const REASON_BYTES_MAX = 256;

export function ForceDialog({ title, children, verb, act, onClose }: ForceDialogProps) {
  const id = useId();
  const grace = useRef<HTMLInputElement>(null);
  const reason = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<unknown>();
  const [isActing, setActing] = useState(false);

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    if (isActing) return;
    setActing(true);
    setError(undefined);
    try {
      const graceMs = Math.round((grace.current?.valueAsNumber ?? 0) * 1_000);
      announce(await act({ graceMs, reason: reason.current?.value ?? "" }));
      onClose();
    } catch (problem) {
      setError(problem);
      setActing(false);
    }
  }

  return (
    <Dialog title={title} onClose={onClose}>
      <form class="force" onSubmit={(event) => void submit(event)}>
        <div>{children}</div>
        <label>
          Grace, in seconds
          <input
            ref={grace}
            type="number"
            min={0}
            max={GRACE_S_MAX}
            step="any"
            required
            defaultValue={String(GRACE_S_DEFAULT)}
            aria-describedby={`${id}-grace`}
          />
        </label>
        <p id={`${id}-grace`} class="hint">
          The client hears of it at once and may stop cleanly. When the grace is over, and not
          before the end of the lease that the client has now, it is taken away.
        </p>
        <label>
          Reason, which the client sees
          <input ref={reason} type="text" maxLength={REASON_BYTES_MAX} autocomplete="off" />
        </label>
        {error !== undefined && <Problem error={error} />}
        <div class="buttons">
          <button type="submit" class="dangerous" aria-disabled={isActing}>
            {isActing ? "Asking the cluster …" : verb}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
