/** What the errors of `level` are taken for: damage, lack of room, a disk that failed, or neither. */
import { describe, expect, test } from "vitest";
import { damageOf } from "../../src/storage/corruption.js";
import { isDiskFailure } from "../../src/storage/file-system.js";
import { explainedStoreError } from "../../src/storage/level-store.js";

function levelError(code: string, message: string): Error {
  const cause = Object.assign(new Error(message), { code });
  return Object.assign(new Error("Database failed to open", { cause }), {
    code: "LEVEL_DATABASE_NOT_OPEN",
  });
}

describe("an error of the store", () => {
  test.each([
    "IO error: /d/store/000005.log: Input/output error",
    "IO error: /d/store/CURRENT: Input/output error",
    "Corruption: checkpoint: /d/store/000005.ldb: Input/output error",
  ])("is the disk's when the device failed, and no damage: %s", (message) => {
    const error = explainedStoreError(levelError("LEVEL_IO_ERROR", message));
    expect(isDiskFailure(error)).toBe(true);
    expect(damageOf(error)).toBeUndefined();
    expect(String(error)).toContain("the disk failed: EIO: store: ");
  });

  test("is damage when a file is gone or makes no sense", () => {
    const missing = "IO error: /d/store/000005.ldb: No such file or directory";
    const altered = "Corruption: bad record in MANIFEST";
    expect(damageOf(explainedStoreError(levelError("LEVEL_IO_ERROR", missing)))).toBeDefined();
    expect(damageOf(explainedStoreError(levelError("LEVEL_CORRUPTION", altered)))).toBeDefined();
  });

  test("is lack of room when the disk is full", () => {
    const full = levelError("LEVEL_IO_ERROR", "IO error: /d/store/6.log: No space left on device");
    expect(explainedStoreError(full)).toMatchObject({ code: "DISK_FULL" });
  });

  test("is left as it is otherwise", () => {
    const locked = levelError("LEVEL_LOCKED", "IO error: lock /d/store/LOCK: already held");
    expect(explainedStoreError(locked)).toBe(locked);
  });
});
