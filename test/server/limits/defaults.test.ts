/** Which limits of clients there are if some are set. */
import { expect, test } from "vitest";
import { type NodeOptions, resolveOptions } from "../../../src/server/index.js";
import { clientLimits } from "../../../src/server/limits/defaults.js";
import { portLimits } from "../../../src/server/node/node-limits.js";

const ROOM = { connectionsMax: 1_000, watchesMax: 100, unfinishedBytesMax: 64 << 20 };
const listen = { host: "127.0.0.1", port: 0 };
const GOOD = {
  ...{ id: 1, dataDirectory: "n1", listen, peerListen: listen },
  initialCluster: [{ id: 1, address: { host: "127.0.0.1", port: 7_511 } }],
};

test("without a word one identity or address has three quarters of what there is", () => {
  expect(clientLimits({}, ROOM)).toEqual({
    connectionsMax: 750,
    commandsPerSecondMax: Number.POSITIVE_INFINITY,
    readCostPerSecondMax: 500_000,
    watchesMax: 75,
    unfinishedBytesMax: 48 << 20,
  });
});

test("a limit that is set counts, and 0 means that there is none", () => {
  const limits = clientLimits({ watchesMax: 3, commandsPerSecondMax: 0 }, ROOM);
  expect(limits).toMatchObject({ watchesMax: 3, connectionsMax: 750 });
  expect(limits.commandsPerSecondMax).toBe(Number.POSITIVE_INFINITY);
});

test("the port keeps the limits of connections and unfinished messages", () => {
  const options = resolveOptions({
    ...GOOD,
    identityLimits: { unfinishedBytesMax: 5_000 },
    addressLimits: { unfinishedBytesMax: 0, connectionsMax: 9 },
  });
  expect(portLimits(options)).toEqual({
    identityUnfinishedBytesMax: 5_000,
    addressUnfinishedBytesMax: Number.POSITIVE_INFINITY,
    addressConnectionsMax: 9,
  });
  expect(portLimits(resolveOptions(GOOD)).addressConnectionsMax).toBe(undefined);
});

test.each([
  [{ limits: "warn" }, 'limits "warn" is neither enforce nor observe'],
  [{ identityLimits: { sessionsMax: 5 } }, "identityLimits has no limit sessionsMax"],
  [{ addressLimits: { watchesMax: -1 } }, "addressLimits watchesMax -1 is not a whole number"],
  [{ addressLimits: { watchesMax: 0.5 } }, "addressLimits watchesMax 0.5 is not a whole number"],
])("an impossible limit is refused: %j", (wrong, message) => {
  expect(() => resolveOptions({ ...GOOD, ...wrong } as NodeOptions)).toThrow(message);
});
