/** File systems that a fault fills, while the harness itself needs room on them now and then. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mountRefusal, Volume } from "../../jepsen-lite/cluster/volumes.js";

const refusal = await mountRefusal();
if (refusal !== undefined) console.warn(`NOT TESTED: volumes: ${refusal}`);

test.skipIf(refusal !== undefined)(
  "a full disk has room for the harness, and for nobody else",
  async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-jepsen-volume-"));
    const volume = new Volume(1, directory);
    await volume.mount(4);
    try {
      const writing = (name: string) => writeFile(join(directory, name), Buffer.alloc(1 << 20));
      await volume.fill();
      await expect(writing("of a node")).rejects.toMatchObject({ code: "ENOSPC" });
      await volume.withRoom(() => volume.withRoom(() => writing("of the harness")));
      await expect(writing("of a node")).rejects.toMatchObject({ code: "ENOSPC" });
      await volume.withRoom(() => volume.free());
      await writing("of a node");
    } finally {
      await volume.unmount();
      await rm(directory, { recursive: true });
    }
  },
);
