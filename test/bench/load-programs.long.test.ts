import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { LoadProgram } from "../../bench/peers/load-program.js";
import { PEER_NAMES } from "../../bench/peers/peer.js";
import { PEERS } from "../../bench/peers/peers.js";

const FOREIGN = PEER_NAMES.filter((name) => PEERS[name].prepare !== undefined);
const WINDOW_MS = 1_000;
/** The first time servers and programs are built. */
const BUILD_MS_MAX = 1_200_000;
const NONE = { token: 0, overlap: 0, limit: 0, slot: 0 };

for (const name of FOREIGN) {
  const kind = PEERS[name];
  const missing = kind.missing();
  const note = missing === undefined ? "" : ` – SKIPPED, ${missing}`;

  test.skipIf(missing !== undefined)(
    `${name}: its program takes and releases locks, alone and in competition, and ends${note}`,
    async () => {
      const { signal } = new AbortController();
      await kind.prepare?.({ signal, onNote: () => undefined });
      const directory = mkdtempSync(join(tmpdir(), "holdfast-test-"));
      try {
        const peer = await kind.start(directory, signal);
        try {
          for (const isShared of [false, true]) {
            const keys = isShared ? ["test/one"] : ["test/1", "test/2", "test/3", "test/4"];
            const load = { connections: 2, workers: 4, keys, isShared, signal };
            const program = await peer.connect(load);
            if (!(program instanceof LoadProgram)) throw new Error("not a program");
            await program.begin();
            await program.reset();
            await delay(WINDOW_MS);
            await program.collect();
            expect(program.cycles).toBeGreaterThan(0);
            expect(program.acquireTimes.count).toBeGreaterThan(0);
            expect([...program.errors.keys()]).toEqual([]);
            expect(program.violations).toEqual(NONE);
            await program.stop();
            expect(existsSync(`/proc/${program.pid}`)).toBe(false);
          }
        } finally {
          await peer.stop();
        }
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    },
    BUILD_MS_MAX,
  );
}
