import * as fs from "node:fs";
import { fileSystemSyncedBy } from "../../src/storage/node-file-system.js";
import { describeLogContract } from "./log-contract.js";
import { memoryDisk, realDisk } from "./log-harness.js";
import { describeSnapshotsOfLogContract } from "./log-snapshot-contract.js";

const DISKS = {
  memory: async () => memoryDisk(),
  disk: () => realDisk(),
  "a disk synced behind each write": () => realDisk(fileSystemSyncedBy(fs.fdatasync)),
};

for (const [name, makeDisk] of Object.entries(DISKS)) {
  describeLogContract(name, makeDisk);
  describeSnapshotsOfLogContract(name, makeDisk);
}
