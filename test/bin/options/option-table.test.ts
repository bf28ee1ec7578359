import fc from "fast-check";
import { expect, test } from "vitest";
import { editDistance, similarName } from "../../../bin/config/similar-name.js";
import { formatValue, textOfJson } from "../../../bin/options/option-kind.js";
import {
  OPTION_TABLE,
  RESTORE_OPTIONS,
  RUN_OPTIONS,
  SERVER_OPTIONS,
} from "../../../bin/options/option-table.js";
import { durationText, parseDuration } from "../../../bin/text/durations.js";
import { formatSize, parseSize } from "../../../bin/text/sizes.js";
import { TOKEN_FLOOR_MAX } from "../../../src/lockfsm/index.js";
import {
  ITEMS_MAX,
  LEASE_TTL_MS_MAX,
  LIMIT_MAX,
  LOCK_DELAY_MS_MAX,
  MAX_HOLD_MS_MIN,
  PERMITS_MAX,
  PRIORITY_MAX,
  TTL_MS_MAX,
  TTL_MS_MIN,
} from "../../../src/protocol/index.js";
import {
  NODE_TUNING_DEFAULTS,
  QUIET_MS_DEFAULT,
  resolveTuning,
} from "../../../src/server/index.js";

test("every default of the table is one that its own kind takes back", () => {
  for (const { options } of OPTION_TABLE) {
    for (const { kind, defaultValue } of Object.values(options)) {
      if (defaultValue === undefined || defaultValue === null) continue;
      expect(kind.parse(formatValue(kind, defaultValue))).toEqual(defaultValue);
      expect(textOfJson(kind, kind.toJson(defaultValue))).toBe(formatValue(kind, defaultValue));
    }
  }
});

test("an option of a node has the default of the node, and the node takes its limits", () => {
  expect(SERVER_OPTIONS.electionTimeout.defaultValue).toBe(NODE_TUNING_DEFAULTS.electionTimeoutMs);
  expect(SERVER_OPTIONS.clusterName.defaultValue).toBe("holdfast");
  // What depends on other options has none until they are known.
  const { auditKeep, snapshotLogSize, tlsMinVersion } = SERVER_OPTIONS;
  for (const { defaultValue, defaultText } of [auditKeep, snapshotLogSize, tlsMinVersion]) {
    expect([defaultValue, defaultText]).toEqual([undefined, expect.stringMatching(/\d/)]);
  }
  const electionTimeoutMs = SERVER_OPTIONS.electionTimeout.kind.parse("50ms");
  expect(resolveTuning({ electionTimeoutMs, heartbeatIntervalMs: 25 })).toBeDefined();
});

test("the limits of run are the limits of the cluster", () => {
  const { ttl, maxHold, lockDelay, priority, permits, limit } = RUN_OPTIONS;
  expect(ttl.kind.type).toBe(
    `duration, ${durationText(TTL_MS_MIN)} to ${durationText(TTL_MS_MAX)}`,
  );
  expect(maxHold.kind.type).toContain(`duration, ${durationText(MAX_HOLD_MS_MIN)} to`);
  expect(lockDelay.kind.type).toBe(`duration, 0ms to ${durationText(LOCK_DELAY_MS_MAX)}`);
  expect(priority.kind.type).toBe(`whole number, 0 to ${PRIORITY_MAX}`);
  expect(permits.kind.type).toBe(`whole number, 1 to ${PERMITS_MAX}`);
  expect(limit.kind.type).toBe(`whole number, 1 to ${LIMIT_MAX}`);
  expect(ITEMS_MAX).toBe(16);
});

test("the limits of a restore are the limits of the table, and the largest token can be written", () => {
  const { quietTime, tokenFloor } = RESTORE_OPTIONS;
  expect(quietTime.kind.parse("8d")).toBeGreaterThan(LEASE_TTL_MS_MAX + LOCK_DELAY_MS_MAX);
  expect(quietTime.defaultText).toContain(durationText(QUIET_MS_DEFAULT));
  expect(tokenFloor.kind.type).toBe(`whole number, 1 to ${TOKEN_FLOOR_MAX}`);
  expect(tokenFloor.kind.parse(String(TOKEN_FLOOR_MAX))).toBe(TOKEN_FLOOR_MAX);
  expect(() => tokenFloor.kind.parse(String(TOKEN_FLOOR_MAX + 1))).toThrowError(/is required/);
});

test("a size is a number with a unit, written so that it is read back", () => {
  expect(["64MiB", "1.5KiB", "1kB", "7B", " 2GB "].map(parseSize)).toEqual([
    67_108_864, 1_536, 1_000, 7, 2_000_000_000,
  ]);
  for (const text of ["64", "64mb", "-1MiB", "1.0001B", "", "MiB"]) {
    expect(parseSize(text)).toBe(undefined);
  }
  expect([64 << 20, 1_536, 1_000, 0].map(formatSize)).toEqual(["64MiB", "1536B", "1000B", "0B"]);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 40 }), (bytes) => {
      expect(parseSize(formatSize(bytes))).toBe(bytes);
    }),
  );
});

test("a duration is written as people do, so that it is read back", () => {
  const written = [250, 1_500, 7_100, 15_000, 90_000, 600_000, 5_400_000, 86_400_000, 61_234];
  expect(written.map(durationText)).toEqual([
    ...["250ms", "1.5s", "7.1s", "15s", "1.5m", "10m", "1.5h", "1d", "61.234s"],
  ]);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10 ** 10 }), (milliseconds) => {
      expect(parseDuration(durationText(milliseconds), 10 ** 10)).toBe(milliseconds);
    }),
  );
});

test("a slip of the hand is one letter in a short word and up to three in a long one", () => {
  const names = ["ttl", "wait", "endpoints", "initialCluster"];
  expect(similarName("endpiont", names)).toBe("endpoints");
  expect(similarName("intialClustr", names)).toBe("initialCluster");
  expect(similarName("wiat", names)).toBe("wait");
  expect(similarName("host", names)).toBe(undefined);
  expect([editDistance("ab", "ba"), editDistance("", "abc"), editDistance("abc", "abc")]).toEqual([
    1, 3, 0,
  ]);
});
