/**
 * Finds out, before anything is created, whether an address can be listened on. A data directory
 * belongs to its cluster forever, so a start that fails on a taken port must not create one.
 */
import { createServer } from "node:net";
import { OptionError, optionValueText } from "../../errors/index.js";
import type { HostPort } from "../options.js";

const CAUSES: Readonly<Record<string, string>> = Object.freeze({
  EADDRINUSE: "the port is taken",
  EACCES: "no permission for this port",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "the host name is unknown",
});

/** Rejects with `UNAVAILABLE`, naming option, address and cause. */
export function requireFreePort(option: string, address: HostPort): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      const code = error.code ?? error.message;
      const cause = CAUSES[code] === undefined ? code : `${CAUSES[code]} (${code})`;
      const where = `cannot listen on ${optionValueText(address)}`;
      reject(
        new OptionError("UNAVAILABLE", (say) => `${where} (${say(option)}): ${cause}`, {
          cause: error,
          details: { ...address },
        }),
      );
    });
    server.listen(address.port, address.host, () => server.close(() => resolve()));
  });
}
