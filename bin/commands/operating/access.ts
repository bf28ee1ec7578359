/**
 * `holdfast access …`: who may do what. The subcommands are in `access`: identities, their credentials
 * and their permissions, the first admin, and whether the cluster is open.
 */
import type { Command } from "commander";
import { LEVEL_WORDS } from "../../access/access-command.js";
import { defineAnonymous } from "../../access/anonymous.js";
import { defineCertificate, defineToken } from "../../access/credentials.js";
import { defineInit } from "../../access/first-admin.js";
import { defineCheck, defineGrant, defineRevoke } from "../../access/grants.js";
import { defineAdd, defineLs, defineRemove, defineWhoami } from "../../access/identities.js";
import { commandGroup, type Examples } from "../../cluster/cluster-command.js";
import type { Finish } from "../../exit/ending.js";

const EXAMPLES: Examples = [
  ["holdfast access init --out admin.token", "the first admin, and its access token"],
  ["export HOLDFAST_ACCESS_TOKEN_FILE=admin.token", "speak as that admin"],
  ["holdfast access add billing", "an identity for a program"],
  ["holdfast access grant billing acquire 'orders/*'", "what it may do"],
  ["holdfast access token billing --out b.token", "its access token, to be given to it"],
  ["holdfast access anonymous deny", "secure the cluster against all others"],
];

const LEVELS = Object.entries(LEVEL_WORDS)
  .map(([level, words]) => `  ${level.padEnd(7)}  ${words}`)
  .join("\n");
const NOTES = `
An identity has a level on a key, or on all keys with a prefix:
${LEVELS}
A KEY that ends in * is a prefix: quote it, since shells expand it.

A client proves who it is by an access token (--token-file) or a certificate
(--cert). If it proves nothing it is anonymous, which has admin in a new
cluster.`;

export function defineAccess(command: Command, finish: Finish): void {
  commandGroup(command, EXAMPLES, NOTES);
  defineInit(command);
  defineAdd(command);
  defineRemove(command);
  defineToken(command);
  defineCertificate(command);
  defineGrant(command);
  defineRevoke(command);
  defineLs(command);
  defineCheck(command, finish);
  defineWhoami(command);
  defineAnonymous(command);
}
