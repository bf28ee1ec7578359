/**
 * Reads a page of a node over HTTP. It does not use `fetch`, which refuses the ports that browsers
 * block (6667, 10080, …), because a node can listen on any port. For Node only; follows no
 * redirect.
 */
import { get as getHttp } from "node:http";
import { get as getHttps } from "node:https";

/** A longer answer does not come from a node. */
const PAGE_CHARACTERS_MAX = 16 << 20;

interface Page {
  readonly status: number;
  readonly text: string;
}

/**
 * Reads the page at `url`. Rejects when the answer is incomplete or longer than 16 Mi characters,
 * and when the signal is aborted.
 */
export function readPage(url: string, signal: AbortSignal): Promise<Page> {
  return new Promise((resolve, reject) => {
    const get = url.startsWith("https:") ? getHttps : getHttp;
    // No agent, because it would keep open a connection that the node counts.
    const request = get(url, { signal, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        if (text.length > PAGE_CHARACTERS_MAX) response.destroy(new Error("the answer never ends"));
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    });
    request.on("error", reject);
  });
}
