/**
 * `holdfast revoke KEY`, `--token N` or `--prefix P`: takes a lock away from its holders, after a
 * grace period if one is given. It does not ask for confirmation.
 */
import { type Command, Option } from "commander";
import { HoldfastError } from "../../../src/errors/index.js";
import type { Admin, Revoked, RevokeTarget } from "../../../src/index.js";
import { keyText } from "../../../src/text/index.js";
import { countText, revokedText } from "../../../src/views/index.js";
import { ask, clusterCommand, type Examples, tell } from "../../cluster/cluster-command.js";
import { wholeNumberArgument } from "../../config/command-options.js";
import {
  addForceOptions,
  FORCE_NOTES,
  type ForceFlags,
  forceOf,
} from "../../config/force-options.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";

interface RevokeFlags extends ForceFlags {
  readonly token?: number;
  readonly prefix?: string;
}

const EXAMPLES: Examples = [
  ["holdfast revoke deploy --grace 30s --reason 'hotfix'", "all holds of deploy"],
  ["holdfast revoke --token 3715182592000001", "only the hold with that fencing token"],
  ["holdfast revoke deploy --now", "without waiting for the holder"],
  ["holdfast revoke --prefix ci/ --now", "every key below ci/, held or cooling down"],
];

const NOTES = `${FORCE_NOTES}

Prints how many holds were asked to end, and when the last of them ends at the
latest; or, with --now, how many ended: 0 without an error if the lock is not
held. The owner of a lease is not told, and keeps the lease until that time. A
lock that cools down (--min-hold, --lock-delay) is opened at once, with or
without --now. A cooldown that begins with the end of the revoked holds lasts
until the lock is revoked again. Exit code 5: no hold has that fencing token, or
you may not revoke it. The JSON document:
  {"key":"deploy","token":null,"revoked":1,"opened":0,"endsInMs":14900,
   "leasesLeft":0}
or with --prefix
  {"prefix":"ci/","keys":2,"revoked":1,"opened":1,"endsInMs":14900,
   "leasesLeft":0}
endsInMs: in how long the last of the holds ends at the latest; 0: none is left.
leasesLeft: how many of those that are left are leases.`;

export function defineRevoke(command: Command): void {
  command
    .argument("[key]", "name of the lock")
    .addOption(
      new Option(
        "--token <n>",
        "the hold with this fencing token, instead of all holds of a key",
      ).argParser(wholeNumberArgument(1, Number.MAX_SAFE_INTEGER)),
    )
    .option("--prefix <text>", "all keys in use that begin so, instead of one key");
  addForceOptions(command);
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(
    async (key: string | undefined) => {
      const flags = command.opts<RevokeFlags>();
      if (flags.prefix !== undefined) {
        await revokeBelow(command, key, flags, flags.prefix);
        return;
      }
      const target = targetOf(key, flags.token);
      const force = forceOf(flags);
      const revoke = (admin: Admin): Promise<Revoked> =>
        admin.revoke(target, force).catch((error: unknown) => {
          throw explained(error, target);
        });
      const done = await ask(command, "key" in target ? target : {}, revoke);
      const text = resultText(targetText(target), done);
      tell(command, { key: key ?? null, token: flags.token ?? null, ...done }, text);
    },
  );
}

/** Each key by itself: those that come into use meanwhile may be left out. */
async function revokeBelow(
  command: Command,
  key: string | undefined,
  flags: RevokeFlags,
  prefix: string,
): Promise<void> {
  if (key !== undefined || flags.token !== undefined) {
    throw new Failure(EXIT.usage, "a key, --token and --prefix exclude each other");
  }
  const force = forceOf(flags);
  const done = await ask(command, {}, async (admin) => {
    let [keys, revoked, opened, endsInMs, leasesLeft] = [0, 0, 0, 0, 0];
    for await (const view of admin.query(prefix)) {
      if (view.holds.length + view.cooldowns.length === 0) continue;
      const one = await admin.revoke({ key: view.key }, force);
      keys += 1;
      revoked += one.revoked;
      opened += one.opened;
      endsInMs = Math.max(endsInMs, one.endsInMs);
      leasesLeft += one.leasesLeft;
    }
    return { keys, revoked, opened, endsInMs, leasesLeft };
  });
  tell(command, { prefix, ...done }, resultText(countText(done.keys, "key"), done));
}

function targetOf(key: string | undefined, token: number | undefined): RevokeTarget {
  if (key !== undefined && token === undefined) return { key };
  if (key === undefined && token !== undefined) return { token };
  throw new Failure(
    EXIT.usage,
    key === undefined
      ? "give a key or --token: what should be revoked"
      : "a key and --token exclude each other",
  );
}

function explained(error: unknown, target: RevokeTarget): unknown {
  if (!(error instanceof HoldfastError) || error.code !== "NOT_HELD") return error;
  if (!("token" in target)) return error;
  return new Failure(EXIT.refused, `there is no hold with fencing token ${target.token}`, {
    cause: error,
  });
}

function targetText(target: RevokeTarget): string {
  return "key" in target ? keyText(target.key) : `fencing token ${target.token}`;
}

function resultText(what: string, done: Revoked): string {
  const hint = done.leasesLeft > 0 ? " (--now ends it at once)" : "";
  return `${what}: ${revokedText(done)}${hint}`;
}
