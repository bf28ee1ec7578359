/**
 * Reads a page of a node over HTTP. Not by `fetch`, which refuses the ports that browsers keep from
 * web pages (6667, 10080, …): a node may listen on any. For Node only; follows no redirect.
 */
import { get as getHttp } from "node:http";
import { get as getHttps } from "node:https";

/** Beyond it, what answers is no node. */
const PAGE_CHARACTERS_MAX = 16 << 20;

interface Page {
  readonly status: number;
  readonly text: string;
}

/** Rejects when there is no whole answer, and when the signal is aborted. */
export function readPage(url: string, signal: AbortSignal): Promise<Page> {
  return new Promise((resolve, reject) => {
    const get = url.startsWith("https:") ? getHttps : getHttp;
    // No agent: it would keep a connection that the node counts.
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
