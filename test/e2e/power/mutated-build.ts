/**
 * The command and the storage of nodes, and the clients of attacks with the SDK in them, built with one
 * bug. They lie inside the cache of the checkout, so that they find packages as the build does.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { bundleCommand } from "../../../scripts/command-bundle.js";
import { type Mutant, mutated } from "../../sim/mutants/mutant.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const CACHE = `${ROOT}node_modules/.cache/holdfast-power`;

/** No seed of the simulator finds these: its disks stand in for the code. */
export type BuildMutant = Omit<Mutant, "scenario" | "seeds">;

export const UNSYNCED_LOG: BuildMutant = {
  name: "log-written-without-dsync",
  rule: "a write to a file of the log is durable when it is over",
  file: "src/storage/node-file-system.ts",
  find: "syncFile === undefined ? O_DSYNC : 0",
  replace: "0",
};

export const UNSYNCED_STORE: BuildMutant = {
  name: "store-written-without-sync",
  rule: "a batch of the store is durable when it is over",
  file: "src/storage/level-store.ts",
  find: "sync: true",
  replace: "sync: false",
};

export class MutatedBuild implements Disposable {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async make(mutant: BuildMutant): Promise<MutatedBuild> {
    mkdirSync(CACHE, { recursive: true });
    const made = new MutatedBuild(mkdtempSync(`${CACHE}/${mutant.name}-`));
    const plugins = [withBug(mutant)];
    await bundleCommand({ root: ROOT, target: `${made.#directory}/bin`, plugins });
    await build({
      absWorkingDir: ROOT,
      entryPoints: {
        storage: "src/storage/index.ts",
        client: "jepsen-lite/clients/client-main.ts",
      },
      outdir: made.#directory,
      target: "node20",
      bundle: true,
      packages: "external",
      platform: "node",
      format: "esm",
      logLevel: "error",
      plugins,
    });
    return made;
  }

  /** The path of `holdfast`. */
  get command(): string {
    return `${this.#directory}/bin/holdfast.js`;
  }

  /** The path of the room `storage`. */
  get storage(): string {
    return `${this.#directory}/storage.js`;
  }

  /** What makes an attack use both the command and the clients. */
  get attacked(): Readonly<Record<string, string>> {
    return {
      HOLDFAST_TEST_COMMAND: this.command,
      HOLDFAST_TEST_CLIENT: `${this.#directory}/client.js`,
    };
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function withBug(mutant: BuildMutant): Plugin {
  const file = `${ROOT}${mutant.file}`;
  return {
    name: mutant.name,
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (path !== file) return undefined;
        const contents = mutated(readFileSync(path, "utf8"), mutant);
        return { contents, loader: "ts" };
      });
    },
  };
}
