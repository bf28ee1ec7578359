/**
 * What is wrong with the options of `holdfast cluster`, found before anything is started or written.
 * What it hands on to each node is judged as the node judges it.
 */
import { REDIS_RULE_NAMES } from "../../src/node-options/index.js";
import { requireServerValues } from "../config/server-values.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import type { SettledOptions } from "../options/option-definition.js";
import type { CLUSTER_OPTIONS } from "../options/option-table.js";
import { flagOf } from "../text/option-spelling.js";
import { HOST } from "./cluster-plan.js";

export type ClusterFlags = SettledOptions<typeof CLUSTER_OPTIONS>;

/** Fails with exit code 2. */
export function requireClusterOptions(flags: ClusterFlags): void {
  if (flags.requireClientCert && !flags.tls) {
    throw new Failure(EXIT.usage, "--require-client-cert needs --tls");
  }
  if (flags.redis !== true) requireNoRedis(flags);
  const { allowOrigin, redisAllowEndless, redisAllowUnproven, redisFair, redisRedlock } = flags;
  requireServerValues({
    ...(allowOrigin && { allowOrigin }),
    ...(flags.redis && { redisListen: { host: HOST, port: 0 } }),
    ...{ redisAllowEndless, redisAllowUnproven, redisFair, redisRedlock },
  });
}

/** The switches of the table that were given, as each node is given them. */
export function redisRules(flags: ClusterFlags): string[] {
  return REDIS_RULE_NAMES.filter((name) => flags[name]).map((name) => flagOf(name));
}

function requireNoRedis(flags: ClusterFlags): void {
  const ports = (["redisPort", "redisSentinelPort"] as const)
    .filter((name) => flags[name] !== undefined)
    .map((name) => flagOf(name));
  const [given] = [...ports, ...redisRules(flags)];
  if (given !== undefined) throw new Failure(EXIT.usage, `${given} needs --redis`);
}
