/**
 * What is left of a lease, as a bar that drains. It moves between two answers of the cluster, and
 * stands still while the viewer has paused the page.
 */
import { leaseText } from "../../src/views/index.js";
import { useNow } from "../state/clock.js";
import { Bar } from "./bar.js";

/** Less than this part of a lease is left: its client did not renew it when it should have. */
const LOW_PART = 1 / 3;

export interface LeaseBarProps {
  /** What was left when the cluster answered. */
  readonly leaseMs: number;
  /** The whole lease; 0: without end. */
  readonly ttlMs: number;
  /** When it answered, in wall time. */
  readonly atMs: number;
}

export function LeaseBar({ leaseMs, ttlMs, atMs }: LeaseBarProps) {
  const nowMs = useNow();
  if (ttlMs === 0) return <span class="lease">{leaseText({ leaseMs, ttlMs })}</span>;
  const leftMs = Math.max(0, leaseMs - Math.max(0, nowMs - atMs));
  const part = leftMs / ttlMs;
  return (
    <span class="lease">
      <Bar part={part} isLow={part < LOW_PART}>
        {leaseText({ leaseMs: leftMs, ttlMs })}
      </Bar>
    </span>
  );
}
