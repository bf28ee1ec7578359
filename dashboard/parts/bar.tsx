/**
 * A part of a whole as a bar, such as what is left of a lease. The text next to it says the same,
 * so the bar itself is hidden from those who hear the page.
 */
import type { ComponentChildren } from "preact";

export interface BarProps {
  /** 0 – 1; values outside are cut. */
  readonly part: number;
  /** Says what the bar shows. */
  readonly children: ComponentChildren;
  /** Drawn as a warning: little is left. */
  readonly isLow?: boolean | undefined;
}

const WIDTH = 100;

export function Bar({ part, children, isLow }: BarProps) {
  const filled = Math.max(0, Math.min(1, part)) * WIDTH;
  return (
    <span class={isLow === true ? "bar bar-low" : "bar"}>
      <svg
        viewBox={`0 0 ${WIDTH} 8`}
        preserveAspectRatio="none"
        aria-hidden="true"
        focusable="false"
      >
        <rect class="bar-whole" width={WIDTH} height="8" rx="2" />
        <rect class="bar-part" width={filled.toFixed(1)} height="8" rx="2" />
      </svg>
      <span class="number">{children}</span>
    </span>
  );
}
