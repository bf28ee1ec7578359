/** What is wrong with names that browsers and clients send to a node. */
import type { TextJudge } from "./kinds.js";

const ORIGIN_LENGTH_MAX = 1_024;
/**
 * A scheme, which may be a browser extension's, a host, and optionally a port; no path, no
 * wildcard.
 */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/;
/** In ASCII, as a request contains it. */
const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_])?\.?$/i;

/**
 * Browsers send an origin in only one form, and it is compared literally: one that can never match
 * is refused.
 */
export const judgeOrigin: TextJudge = (origin) => {
  if (origin === "*" || origin === "null") {
    return "would let the pages of any site in: name each origin";
  }
  if (!ORIGIN.test(origin) || origin.length > ORIGIN_LENGTH_MAX) {
    return "is not an origin like https://ops.example or http://localhost:3000";
  }
  const sent = /^https?:/.test(origin) && URL.canParse(origin) ? new URL(origin).origin : origin;
  return sent === origin ? undefined : `would never match: browsers send ${sent}`;
};

export const judgeHostName: TextJudge = (name) =>
  HOST_NAME.test(name) ? undefined : "is not a host name: no port, no path, no wildcard";
