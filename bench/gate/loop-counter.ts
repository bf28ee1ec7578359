/**
 * Counts inside a node of the gate's cluster, into which Node.js loads this file first: turns of the
 * event loop, as libuv counts them, and writes to sockets, each of which is one system call. Prints
 * both as one line of JSON when it gets the signal. It adds one to a number for each write and
 * nothing else, so it does not change what it counts.
 */
import { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { COUNTS_SIGNAL, type LoopCounts } from "./loop-counts.js";

let socketWrites = 0;

type Write = (this: Socket, ...rest: never[]) => void;
/** What a stream calls for one chunk, and for all chunks that have been waiting. */
const writer = Socket.prototype as unknown as Record<"_write" | "_writev", Write>;
for (const name of ["_write", "_writev"] as const) {
  const original = writer[name];
  writer[name] = function (...rest) {
    socketWrites += 1;
    original.apply(this, rest);
  };
}

/** Not in the types of Node.js 20.19, which has it. */
interface LoopTiming {
  readonly uvMetricsInfo: { readonly loopCount: number };
}

process.on(COUNTS_SIGNAL, () => {
  const { uvMetricsInfo } = performance.nodeTiming as unknown as LoopTiming;
  const counts: LoopCounts = { turns: uvMetricsInfo.loopCount, socketWrites };
  process.stdout.write(`${JSON.stringify(counts)}\n`);
});
