/** Ports of the nodes: free ones of the loopback interface, or a requested range. */
import { freePorts, isFree } from "../../lab/free-ports.js";
import { RefusedError } from "../harness/refused-error.js";

/** `basePort` 0: any. Rejects with a `RefusedError` if a requested port is in use. */
export async function findPorts(count: number, basePort: number): Promise<number[]> {
  if (basePort === 0) return freePorts(count);
  const ports = Array.from({ length: count }, (_, index) => basePort + index);
  for (const port of ports) {
    if (await isFree(port)) continue;
    throw new RefusedError(
      `port ${port} is in use: --port ${basePort} needs ${count} free ports, beginning there`,
    );
  }
  return ports;
}
