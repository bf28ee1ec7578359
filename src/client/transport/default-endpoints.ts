/**
 * The nodes that a client uses when its program names none: the ones in the environment, as the
 * command line and `holdfast run` set it, or the nodes of a cluster on this machine. Reads the
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
  const named = endpointsOfEnvironment();
  return named.length === 0 ? LOCAL_CLUSTER : named;
}

/** What a person can do who finds no cluster at these endpoints; "" if that is known best to them. */
export function wayOut(endpoints: readonly string[]): string {
  const given = endpoints.join();
  if (given === endpointsOfEnvironment().join()) return `; the endpoints come from ${VARIABLE}`;
  if (given !== LOCAL_CLUSTER.join()) return "";
  return `; start a cluster on this machine with \`holdfast cluster\`, or set ${VARIABLE}`;
}

function endpointsOfEnvironment(): readonly string[] {
  const given = (globalThis as Host).process?.env?.[VARIABLE] ?? "";
  const endpoints = given.startsWith("unix:") ? [given] : given.split(",");
  return endpoints.map((endpoint) => endpoint.trim()).filter((endpoint) => endpoint !== "");
}
