/**
 * Imported by tests that only compute: they leave the processor to tests of real clusters, whose
 * deadlines are as short as a user's. Processes that they start inherit it.
 */
import { setPriority } from "node:os";

const NICENESS = 10;

setPriority(NICENESS);
