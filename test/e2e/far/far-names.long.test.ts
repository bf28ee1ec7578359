/**
 * Hosts that are far away and whose names have addresses of two families, of which one leads
 * nowhere: real processes in a network of their own, with 150 ms each way.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { COMMAND } from "../world/command-line.js";

const run = promisify(execFile);
const NAMESPACES = ["-Urnm", "bash"];

/** Whether this machine lets a test have a network of its own. */
async function canTunnel(): Promise<boolean> {
  const tunnel = "test -r /dev/net/tun && command -v ip python3 && mount --bind /tmp /mnt";
  return run("unshare", [...NAMESPACES, "-c", tunnel]).then(
    () => true,
    () => false,
  );
}

test.skipIf(!(await canTunnel()))(
  "are reached by peers and by clients",
  async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-far-"));
    try {
      const script = fileURLToPath(new URL("far-cluster.sh", import.meta.url));
      const { stdout } = await run("unshare", [...NAMESPACES, script, COMMAND, directory], {
        timeout: 110_000,
      });
      const [held = "", status = ""] = stdout.split("\n");
      expect(held).toBe("held");
      const { nodes } = JSON.parse(status) as { nodes: { role: string }[] };
      expect(nodes.map(({ role }) => role).sort()).toEqual(["follower", "follower", "leader"]);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
  120_000,
);
