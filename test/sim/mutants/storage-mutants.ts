/** Bugs of the log on disk. */
import type { Mutant } from "./mutant.js";

export const STORAGE_MUTANTS: readonly Mutant[] = [
  {
    name: "corrupt-record-accepted",
    rule: "21: corruption is told from a torn tail",
    file: "src/storage/segment-scan.ts",
    find: '  if (crc32(segment.subarray(bodyFrom, bodyTo)) !== header.bodyCrc) return "the body is damaged";\n',
    replace: "",
    seeds: [20],
  },
  {
    name: "damage-cut-as-torn-tail",
    rule: "21: corruption is told from a torn tail",
    file: "src/storage/log-reader.ts",
    find: "      if (refutation !== undefined) {",
    replace: '      if (refutation === "never") {',
    seeds: [20],
  },
  {
    name: "mark-ignored",
    rule: "21: nothing at or below the durable mark may be missing",
    file: "src/storage/data-directory.ts",
    find: "await readLog(fileSystem, directory, found);",
    replace:
      "await readLog(fileSystem, directory, { ...found, seq: 0, index: 0, term: 0, lastSegment: 0 });",
    seeds: [11],
  },
  {
    name: "unsynced-tail-trusted",
    rule: "what only the page cache shows is written again before it counts",
    file: "src/storage/open-file-log.ts",
    find: "if (last.tail.length > 0) await",
    replace: "if (last.tail.length < 0) await",
    seeds: [7],
  },
  {
    name: "segment-name-not-synced",
    rule: "a directory is synced after a name in it changed",
    file: "src/storage/segment.ts",
    find: "      await fileSystem.syncDirectory(directory);\n",
    replace: "",
    seeds: [1],
  },
  {
    name: "durable-before-written",
    rule: "durable is reported when the write resolved",
    file: "src/storage/file-log.ts",
    find: "await segment.append(this.#encode(segment, group, seq), seq);",
    replace: "void segment.append(this.#encode(segment, group, seq), seq);",
    seeds: [1],
  },
  {
    name: "failed-write-goes-on",
    rule: "22: after a failed write the process ends",
    file: "src/storage/file-log.ts",
    find: "        await this.#writeRecord(group, last.write.seq, bodyBytes);\n      } catch (error) {\n        this.#fail(error as Error);\n        break;\n      }",
    replace: "        await this.#writeRecord(group, last.write.seq, bodyBytes);\n      } catch {}",
    seeds: [7],
  },
  {
    name: "handed-over-is-durable",
    rule: "durable is reported when the write resolved",
    file: "src/storage/file-log.ts",
    find: "this.#writing ??= this.#writeWaiting();\n    return false;",
    replace: "this.#writing ??= this.#writeWaiting();\n    return true;",
    seeds: [1],
  },
  {
    name: "written-at-once-beside-another",
    rule: "one write in flight",
    file: "src/storage/file-log.ts",
    find: "if (this.#writing === undefined && !isDiskBusy) {",
    replace: "if (!isDiskBusy) {",
    seeds: [30],
  },
];
