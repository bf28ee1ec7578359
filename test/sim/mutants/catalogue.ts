/** Every seeded bug, by name. */
import { CONSENSUS_MUTANTS } from "./consensus-mutants.js";
import { CURED_MUTANTS } from "./cured-mutants.js";
import { ELECTION_MUTANTS } from "./election-mutants.js";
import { MEMBER_MUTANTS } from "./member-mutants.js";
import type { Mutant } from "./mutant.js";
import { SERVER_MUTANTS } from "./server-mutants.js";
import { STORAGE_MUTANTS } from "./storage-mutants.js";
import { TABLE_MUTANTS } from "./table-mutants.js";

export const MUTANTS: readonly Mutant[] = [
  ...CONSENSUS_MUTANTS,
  ...ELECTION_MUTANTS,
  ...MEMBER_MUTANTS,
  ...STORAGE_MUTANTS,
  ...SERVER_MUTANTS,
  ...TABLE_MUTANTS,
  ...CURED_MUTANTS,
];
