/**
 * The channels of `tracing.ts` by `node:diagnostics_channel`. Node itself reports an observer that
 * throws, as an uncaught exception in the next tick; neither the observed call nor other observers
 * notice.
 */
import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import type { TraceChannel, TraceContext, Tracing } from "./tracing.js";

class NodeTraceChannel<Context extends TraceContext> implements TraceChannel<Context> {
  readonly #channel: TracingChannel<Context, Context>;

  constructor(name: string) {
    this.#channel = tracingChannel<Context, Context>(name);
  }

  get hasSubscribers(): boolean {
    return this.#channel.hasSubscribers;
  }

  trace<T>(context: Context, work: () => Promise<T>): Promise<T> {
    return this.#channel.tracePromise(work, context);
  }
}

export const NODE_TRACING: Tracing = Object.freeze({
  acquire: new NodeTraceChannel("holdfast:acquire"),
  release: new NodeTraceChannel("holdfast:release"),
  connect: new NodeTraceChannel("holdfast:connect"),
  using: new NodeTraceChannel("holdfast:using"),
});
