import { expect, test } from "vitest";
import { sumOfDisks } from "../../../bench/measures/disk-bytes.js";

const DISKSTATS = `
 254       0 vda 100 0 800 5 40 2 1000 9 0 7 14 0 0 0 0 3 1
 254       1 vda1 100 0 800 5 40 2 1000 9 0 7 14 0 0 0 0 0 0
 259       0 nvme0n1 1 0 8 0 3 0 24 1 0 1 1 0 0 0 0 0 0
   7       0 loop0 9 0 72 1 6 0 48 1 0 1 1 0 0 0 0 0 0
`;

test("what the disks named were written is added up, and nothing is counted twice", () => {
  expect(sumOfDisks(DISKSTATS, new Set(["vda", "nvme0n1"]))).toBe((1000 + 24) * 512);
  expect(sumOfDisks(DISKSTATS, new Set(["sda"]))).toBeUndefined();
});
