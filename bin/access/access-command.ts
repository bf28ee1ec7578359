/**
 * What the subcommands of `holdfast access` share: their options and arguments, and what these mean.
 */
import { Argument, type Command, Option } from "commander";
import type { Admin, GrantLevel, GrantTarget, IdentityView } from "../../src/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { grantTarget } from "../views/access-view.js";

export const ANONYMOUS = "anonymous";
export const EVERYTHING: GrantTarget = Object.freeze({ prefix: "" });
/** What each level allows in addition to those before it. */
export const LEVEL_WORDS: Readonly<Record<GrantLevel, string>> = {
  observe: "read and watch",
  acquire: "also acquire locks",
  operate: "also take locks from others, set limits, end sessions",
  admin: "also settings, members, snapshots and access; on all keys only",
};

export function identityArgument(command: Command): Command {
  return command.argument("<identity>", "name of the identity");
}

export function levelArgument(command: Command): Command {
  return command.addArgument(
    new Argument("<level>", "what it allows; see holdfast access --help").choices(
      Object.keys(LEVEL_WORDS),
    ),
  );
}

export function keyArgument(command: Command): Command {
  return command.argument("<key>", "a key, or a prefix that ends in *").addOption(exactOption());
}

export function exactOption(): Option {
  return new Option("--exact", "KEY is one key, even if it ends in *");
}

export function labelOption(shown: string): Option {
  return new Option(
    "--label <label>",
    `name of the credential, for ls and remove (default: ${shown})`,
  );
}

/** All of them, or the one of that name. */
export async function identitiesOf(
  admin: Admin,
  name: string | undefined,
): Promise<IdentityView[]> {
  const all: IdentityView[] = [];
  for await (const identity of admin.access.list()) {
    if (name === undefined || identity.name === name) all.push(identity);
  }
  if (all.length > 0) return all;
  throw new Failure(EXIT.refused, `there is no identity ${name}: see holdfast access ls`);
}

export function targetOf(command: Command, key: string): GrantTarget {
  return grantTarget(key, command.opts<{ exact?: boolean }>().exact === true);
}

/** As views have them. */
export function fieldsOf(target: GrantTarget): {
  readonly key: string;
  readonly isPrefix: boolean;
} {
  return "prefix" in target
    ? { key: target.prefix, isPrefix: true }
    : { key: target.key, isPrefix: false };
}
