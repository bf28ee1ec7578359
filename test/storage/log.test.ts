import { describeLogContract } from "./log-contract.js";
import { memoryDisk, realDisk } from "./log-harness.js";

describeLogContract("memory", async () => memoryDisk());
describeLogContract("disk", () => realDisk());
