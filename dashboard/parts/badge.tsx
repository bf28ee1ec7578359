/** A state, by shape and word: never by colour alone. */
import type { JSX } from "preact";

/** good: as it should be; idle: neither good nor bad; busy: under way; warning, bad: look here. */
export type BadgeKind = "good" | "idle" | "busy" | "warning" | "bad";

const SHAPES: Readonly<Record<BadgeKind, JSX.Element>> = {
  good: <circle cx="6" cy="6" r="5" />,
  idle: <circle cx="6" cy="6" r="4" class="hollow" />,
  busy: <path d="M6 1l5 5-5 5-5-5z" />,
  warning: <path d="M6 1l5.5 10H.5z" />,
  bad: <path d="M1 1h10v10H1z" />,
};

export function Badge({ kind, word }: { readonly kind: BadgeKind; readonly word: string }) {
  return (
    <span class={`badge badge-${kind}`}>
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" focusable="false">
        {SHAPES[kind]}
      </svg>
      {word}
    </span>
  );
}
