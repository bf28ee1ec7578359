/**
 * How a port without TLS answers input that is not HTTP: as Node.js does by default, from which a TLS
 * client learns that the port does not speak TLS. In addition, TLS handshakes are reported, since
 * they show that only one side was changed to TLS.
 */
import { type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

const TLS_HANDSHAKE = 0x16;
const TLS_MAJOR_VERSION = 0x03;
const STATUS_BY_CODE: Readonly<Record<string, number>> = Object.freeze({
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
});

interface RequestError extends NodeJS.ErrnoException {
  readonly rawPacket?: Uint8Array;
}

/** `onTls` is called with an address for each connection that begins with a TLS handshake. */
export function noticeTls(server: Server, onTls: (address: string) => void): void {
  server.on("clientError", (error: RequestError, socket) => {
    const { rawPacket } = error;
    if (rawPacket?.[0] === TLS_HANDSHAKE && rawPacket[1] === TLS_MAJOR_VERSION) {
      onTls((socket as { remoteAddress?: string }).remoteAddress ?? "an unknown address");
    }
    endBadRequest(socket, STATUS_BY_CODE[error.code ?? ""] ?? 400);
  });
}

function endBadRequest(socket: Duplex, status: number): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}`;
  socket.end(`${head}\r\nConnection: close\r\n\r\n`, () => socket.destroy());
}
