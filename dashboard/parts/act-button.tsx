/** A button for what needs a right: without the right it is off, and says why. */
import { useId } from "preact/hooks";

export interface ActButtonProps {
  readonly label: string;
  /** Why the viewer may not; `undefined` if they may. */
  readonly whyNot: string | undefined;
  readonly onAct: () => void;
  /** What the act ends for others. */
  readonly isDangerous?: boolean | undefined;
}

export function ActButton({ label, whyNot, onAct, isDangerous }: ActButtonProps) {
  const id = useId();
  const isOff = whyNot !== undefined;
  return (
    <span class="act">
      <button
        type="button"
        class={isDangerous === true ? "dangerous" : undefined}
        // Not `disabled`: who comes by keyboard must be able to read the reason.
        aria-disabled={isOff}
        aria-describedby={isOff ? id : undefined}
        title={whyNot}
        onClick={() => {
          if (!isOff) onAct();
        }}
      >
        {label}
      </button>
      {isOff && (
        <span id={id} class="reason">
          {whyNot}
        </span>
      )}
    </span>
  );
}
