/**
 * How a port answers input that is not HTTP, or a request that does not arrive in time. TLS
 * handshakes on a port without TLS are reported, since they show that only one side was changed.
 *
 * It must not answer for a request before the one that is wrong: that would be taken as its answer.
 */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HttpServer } from "./listen.js";
import { type HttpProblem, lastAnswer } from "./problem.js";

const TLS_HANDSHAKE = 0x16;
const TLS_MAJOR_VERSION = 0x03;

const NO_HTTP: HttpProblem = problem(400, "this is not a request of HTTP/1.1");
const PROBLEMS: Readonly<Record<string, HttpProblem>> = Object.freeze({
  HPE_HEADER_OVERFLOW: problem(431, "the headers have more than 8192 bytes"),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: problem(413, "the extensions of a chunk are too long"),
  ERR_HTTP_REQUEST_TIMEOUT: problem(408, "the request was not complete within ten seconds"),
});

interface InputError extends NodeJS.ErrnoException {
  readonly rawPacket?: Uint8Array;
}

/** A field that is not part of the interface of Node.js. A test fails if it is missing. */
interface Answering {
  readonly _httpMessage?: ServerResponse | null;
}

/** `onTls` is called with an address for each connection that begins with a TLS handshake. */
export function answerBadInput(server: HttpServer, onTls?: (address: string) => void): void {
  // Otherwise Node.js drops headers after the thousandth in silence; `maxHeaderSize` limits them.
  server.maxHeadersCount = 0;
  server.on("clientError", (error: InputError, socket) => {
    const { rawPacket } = error;
    if (rawPacket?.[0] === TLS_HANDSHAKE && rawPacket[1] === TLS_MAJOR_VERSION) {
      onTls?.((socket as { remoteAddress?: string }).remoteAddress ?? "an unknown address");
    }
    const { code = "" } = error;
    // Other errors come from the connection, or from a handshake.
    if (/^(HPE|ERR_HTTP)_/.test(code)) endWith(socket, PROBLEMS[code] ?? NO_HTTP);
    else socket.destroy();
  });
}

function endWith(socket: Duplex, wrong: HttpProblem): void {
  const { _httpMessage: current } = socket as Answering;
  // The request itself is wrong if it has not ended; otherwise one that came after it.
  const isFree = (current ?? undefined) === undefined;
  const isItself = current?.req.complete === false && !current.headersSent;
  if (socket.writable && (isFree || isItself)) {
    socket.end(lastAnswer(wrong), () => socket.destroy());
  } else socket.destroy();
}

function problem(status: number, detail: string): HttpProblem {
  return Object.freeze({ status, code: "INVALID_ARGUMENT", detail });
}
