/**
 * Spans for what the SDK does, by its channels of `node:diagnostics_channel`: nothing of Holdfast
 * is patched, and it does not know OpenTelemetry. Run it against a cluster (`npm start`) with
 *
 *   npx tsx examples/opentelemetry.ts [ENDPOINT…]
 *
 * In an application, import "holdfast", and export spans to where yours go.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import {
  type Attributes,
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import {
  type AcquireTrace,
  type ConnectTrace,
  connect,
  type ReleaseTrace,
  type TraceContext,
  type UsingTrace,
} from "../src/index.js";

/** OpenTelemetry's current context in a store that channels can be bound to. */
const store = new AsyncLocalStorage<Context>();
const contextManager: ContextManager = {
  active: () => store.getStore() ?? ROOT_CONTEXT,
  with: (active, work, self, ...given) =>
    store.run(active, () => work.call(self as never, ...given)),
  bind: (active, target) =>
    typeof target === "function"
      ? (store.run(active, () => AsyncLocalStorage.bind(target as never)) as typeof target)
      : target,
  enable: () => contextManager,
  disable: () => contextManager,
};

/** A span from `start` to `asyncEnd`; what the call does meanwhile has it as its parent. */
function follow<Traced extends TraceContext>(
  name: string,
  describe: (told: Traced) => Attributes,
): void {
  const spans = new WeakMap<object, Span>();
  const tracer = trace.getTracer("holdfast");
  const channel: TracingChannel<Context, Traced> = tracingChannel(name);
  channel.start.bindStore(store, (told) => {
    const span = tracer.startSpan(name.replace(":", " "), { kind: SpanKind.CLIENT });
    spans.set(told, span);
    return trace.setSpan(context.active(), span);
  });
  channel.subscribe({
    start: () => undefined,
    end: () => undefined,
    asyncStart: () => undefined,
    error: (told) => {
      spans.get(told)?.setStatus({ code: SpanStatusCode.ERROR, message: String(told.error) });
    },
    asyncEnd: (told) => {
      // Not at "end", where only the synchronous part of the call is over.
      spans.get(told)?.setAttributes(describe(told)).end();
    },
  });
}

function followHoldfast(): void {
  follow<ConnectTrace>("holdfast:connect", ({ endpoint = "" }) => serverOf(endpoint));
  follow<AcquireTrace>("holdfast:acquire", ({ endpoint, keys, mode = "", token }) => ({
    ...serverOf(endpoint),
    "holdfast.keys": [...keys],
    "holdfast.mode": mode,
    ...(token === undefined ? {} : { "holdfast.token": token }),
  }));
  follow<ReleaseTrace>("holdfast:release", ({ endpoint, keys, token }) => ({
    ...serverOf(endpoint),
    "holdfast.keys": [...keys],
    "holdfast.token": token,
  }));
  follow<UsingTrace>("holdfast:using", ({ keys = [] }) => ({ "holdfast.keys": [...keys] }));
}

function serverOf(endpoint: string): Attributes {
  if (!URL.canParse(endpoint)) return {};
  const { hostname, port } = new URL(endpoint);
  return { "server.address": hostname, "server.port": Number(port) };
}

/** The spans as a tree. */
function print(spans: readonly ReadableSpan[], parent: string | undefined, indent: string): void {
  for (const span of spans) {
    if (span.parentSpanContext?.spanId !== parent) continue;
    const keys = span.attributes["holdfast.keys"];
    console.log(`${indent}${span.name}${Array.isArray(keys) ? ` ${keys.join(" ")}` : ""}`);
    print(spans, span.spanContext().spanId, `${indent}  `);
  }
}

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register({ contextManager });
followHoldfast();

const tracer = trace.getTracer("application");
await tracer.startActiveSpan("order 1001", async (order) => {
  const endpoints = process.argv.slice(2);
  await using client = await connect(endpoints.length === 0 ? {} : { endpoints });
  await client.using("orders/1001", async () => {
    await tracer.startActiveSpan("charge the card", async (charge) => {
      await client.using("cards/7", () => undefined);
      charge.end();
    });
  });
  order.end();
});
print(exporter.getFinishedSpans(), undefined, "");
await provider.shutdown();
