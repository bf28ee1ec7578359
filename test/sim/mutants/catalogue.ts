/** Every seeded bug, by name. */
import { ACCESS_MUTANTS } from "./access-mutants.js";
import { ACT_MUTANTS } from "./act-mutants.js";
import { CLIENT_MUTANTS } from "./client-mutants.js";
import { CONSENSUS_MUTANTS } from "./consensus-mutants.js";
import { CURED_MUTANTS } from "./cured-mutants.js";
import { DOOR_MUTANTS } from "./door-mutants.js";
import { ELECTION_MUTANTS } from "./election-mutants.js";
import { HOLD_MUTANTS } from "./hold-mutants.js";
import { LEASE_MUTANTS } from "./lease-mutants.js";
import { MEMBER_MUTANTS } from "./member-mutants.js";
import type { Mutant } from "./mutant.js";
import { QUEUE_MUTANTS } from "./queue-mutants.js";
import { RESTORE_MUTANTS } from "./restore-mutants.js";
import { SDK_MUTANTS } from "./sdk-mutants.js";
import { SERVER_MUTANTS } from "./server-mutants.js";
import { SNAPSHOT_MUTANTS } from "./snapshot-mutants.js";
import { STORAGE_MUTANTS } from "./storage-mutants.js";
import { TABLE_MUTANTS } from "./table-mutants.js";
import { TIME_MUTANTS } from "./time-mutants.js";

export const MUTANTS: readonly Mutant[] = [
  ...CONSENSUS_MUTANTS,
  ...ELECTION_MUTANTS,
  ...MEMBER_MUTANTS,
  ...STORAGE_MUTANTS,
  ...SERVER_MUTANTS,
  ...TABLE_MUTANTS,
  ...QUEUE_MUTANTS,
  ...HOLD_MUTANTS,
  ...SNAPSHOT_MUTANTS,
  ...RESTORE_MUTANTS,
  ...CLIENT_MUTANTS,
  ...SDK_MUTANTS,
  ...ACCESS_MUTANTS,
  ...CURED_MUTANTS,
  ...TIME_MUTANTS,
  ...LEASE_MUTANTS,
  ...DOOR_MUTANTS,
  ...ACT_MUTANTS,
];
