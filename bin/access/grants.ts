/** `holdfast access grant`, `revoke` and `check`: what an identity may do, on which keys. */
import type { Command } from "commander";
import type { GrantLevel, GrantTarget } from "../../src/index.js";
import { ask, subcommand, tell } from "../cluster/cluster-command.js";
import type { Finish } from "../exit/ending.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { grantText, isEverything, targetText } from "../views/access-view.js";
import {
  EVERYTHING,
  exactOption,
  fieldsOf,
  identityArgument,
  keyArgument,
  levelArgument,
  targetOf,
} from "./access-command.js";

const GRANT_NOTES = `
A permission replaces the one on the same key or prefix. If several cover a key,
the highest counts. KEY defaults to * for admin. The JSON document:
  {"name":"billing","level":"acquire","key":"orders/","isPrefix":true}`;

const REVOKE_NOTES = `
Removes the permission on exactly that key or prefix, and says what the identity
may still do there. Locks that are held stay held. The JSON document:
  {"name":"billing","key":"orders/","isPrefix":true}`;

const CHECK_NOTES = `
Exit code 0 if it is allowed, 1 if not. About oneself every identity may ask,
about others an admin. The JSON document:
  {"name":"billing","level":"acquire","key":"orders/1","isPrefix":false,
   "isKnown":true,"isAllowed":true,"grant":{"key":"orders/","isPrefix":true,
   "level":"acquire"}}
grant: the highest permission that covers the key, or null.`;

export function defineGrant(parent: Command): void {
  const command = subcommand(parent, "grant", "allow an identity something", [
    ["holdfast access grant billing acquire 'orders/*'", "on keys that begin so"],
    ["holdfast access grant billing observe orders", "on one key"],
    ["holdfast access grant ops admin", "everything"],
  ]);
  levelArgument(identityArgument(command))
    .argument("[key]", "a key, or a prefix that ends in *")
    .addOption(exactOption())
    .addHelpText("after", GRANT_NOTES)
    .action(async (name: string, level: GrantLevel, key: string | undefined) => {
      const target = grantedTarget(command, level, key);
      await ask(command, { identity: name, ...target }, ({ access }) =>
        access.grant(name, level, target),
      );
      const text = `${name} has ${level} on ${targetText(target)}`;
      tell(command, { name, level, ...fieldsOf(target) }, text);
    });
}

export function defineRevoke(parent: Command): void {
  const command = subcommand(parent, "revoke", "remove a permission of an identity", [
    ["holdfast access revoke billing 'orders/*'", "the permission on that prefix"],
  ]);
  keyArgument(identityArgument(command))
    .addHelpText("after", REVOKE_NOTES)
    .action(async (name: string, key: string) => {
      const target = targetOf(command, key);
      const left = await ask(command, { identity: name, ...target }, async ({ access }) => {
        await access.revoke(name, target);
        return access.check(name, "observe", target);
      });
      const rest = left.grant === null ? "" : `; it still has ${grantText(left.grant)}`;
      const text = `${name} has no permission on ${targetText(target)}${rest}`;
      tell(command, { name, ...fieldsOf(target) }, text);
    });
}

export function defineCheck(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "check", "say whether an identity may do something", [
    ["holdfast access check billing acquire orders/1", "exit code 0 if it may, else 1"],
    ["holdfast access check billing observe 'orders/*'", "on all keys that begin so"],
  ]);
  keyArgument(levelArgument(identityArgument(command)))
    .addHelpText("after", CHECK_NOTES)
    .action(async (name: string, level: GrantLevel, key: string) => {
      const target = targetOf(command, key);
      const view = await ask(command, { identity: name, ...target }, ({ access }) =>
        access.check(name, level, target),
      );
      const { isKnown, isAllowed, grant } = view;
      const none = isKnown
        ? `no permission of ${name} covers ${targetText(target)}`
        : `there is no identity ${name}`;
      const why = grant === null ? none : `${name} has ${grantText(grant)}`;
      const text = `${isAllowed ? "yes" : "no"}: ${why}`;
      tell(command, { name, level, ...fieldsOf(target), ...view }, text);
      finish(isAllowed ? EXIT.done : EXIT.failed);
    });
}

function grantedTarget(command: Command, level: GrantLevel, key: string | undefined): GrantTarget {
  if (key === undefined && level !== "admin") {
    throw new Failure(EXIT.usage, `give a key, or a prefix as 'orders/*', or '*' for all keys`);
  }
  const target = key === undefined ? EVERYTHING : targetOf(command, key);
  if (level !== "admin" || isEverything(target)) return target;
  throw new Failure(EXIT.usage, "admin is granted on all keys only: leave KEY out");
}
