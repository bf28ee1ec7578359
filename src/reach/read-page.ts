/**
 * Reads a page of a node over HTTP. It does not use `fetch`, which refuses the ports that browsers
 * block (6667, 10080, …), because a node can listen on any port. For Node only; follows no
 * redirect.
 */
import { get as getHttp } from "node:http";
import { get as getHttps } from "node:https";
import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { DIAL_OPTIONS } from "./dial-options.js";
import { handshakeProblem } from "./handshake-problem.js";

/** A longer answer does not come from a node. */
const PAGE_CHARACTERS_MAX = 16 << 20;

interface Page {
  readonly status: number;
  readonly text: string;
}

/** Whom to trust, and how to prove who asks, where the page is read over TLS. */
export interface PageTls {
  readonly secureContext: SecureContext;
  /** Whether it has a certificate of its own. */
  readonly hasCertificate: boolean;
}

/**
 * Reads the page at `url`. Rejects when the answer is incomplete or longer than 16 Mi characters, and
 * when the signal is aborted; where TLS is the reason, with a sentence that says so. `token`: an access
 * token, for a page that needs one. `connect` makes the connection, instead of the address in `url`.
 */
export function readPage(
  url: string,
  signal: AbortSignal,
  tls?: PageTls,
  token?: string,
  connect?: () => Socket,
): Promise<Page> {
  return new Promise((resolve, reject) => {
    const isSecure = url.startsWith("https:");
    const get = isSecure ? getHttps : getHttp;
    const { secureContext, hasCertificate = false } = tls ?? {};
    // No agent, because it would keep open a connection that the node counts.
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const options = {
      ...{ ...DIAL_OPTIONS, signal, agent: false, headers },
      ...(secureContext && { secureContext }),
      ...(connect && { agent: undefined, createConnection: connect }),
    };
    const request = get(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        if (text.length > PAGE_CHARACTERS_MAX) response.destroy(new Error("the answer never ends"));
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    });
    request.on("error", (error) => {
      const { hostname: host } = new URL(url);
      const problem = handshakeProblem(error, { isSecure, host, hasCertificate });
      reject(problem === undefined ? error : new Error(problem, { cause: error }));
    });
  });
}
