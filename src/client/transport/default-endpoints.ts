/**
 * The nodes that a client uses when its program names none: those of the environment, as the
 * command line and `holdfast run` set it, or those of a cluster on this machine. Reads the
 * environment at each call, and nothing else.
 */

const VARIABLE = "HOLDFAST_ENDPOINTS";

/** Where `npm start` and `holdfast cluster` listen. */
export const LOCAL_CLUSTER: readonly string[] = Object.freeze([
  "ws://127.0.0.1:7411",
  "ws://127.0.0.1:7412",
  "ws://127.0.0.1:7413",
]);

/** Browsers have no environment. */
interface Host {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
}

export function defaultEndpoints(): readonly string[] {
  const given = (globalThis as Host).process?.env?.[VARIABLE] ?? "";
  const endpoints = given.startsWith("unix:") ? [given] : given.split(",");
  const named = endpoints.map((endpoint) => endpoint.trim()).filter((endpoint) => endpoint !== "");
  return named.length === 0 ? LOCAL_CLUSTER : named;
}

/** What a person can do who finds no cluster at these endpoints. */
export function wayOut(endpoints: readonly string[]): string {
  const isLocal = endpoints.join() === LOCAL_CLUSTER.join();
  if (!isLocal) return "";
  return `; start a cluster on this machine with \`holdfast cluster\`, or set ${VARIABLE}`;
}
