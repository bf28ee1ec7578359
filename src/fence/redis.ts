/**
 * Fencing in Redis and compatible servers: the gate is a hash, and a script checks it and runs the
 * writing commands in one atomic step. Needs no client library: the caller provides the function
 * that sends a command.
 *
 * Tokens are stored as text: Lua would round them when converting to a number and back.
 */
import { HoldfastError } from "../errors/index.js";
import { type Claim, checkedClaim } from "./claim.js";
import { staleToken } from "./stale-token.js";

/** Sends one command, `["EVAL", …]`, and resolves to its reply. */
export type RedisSend = (command: string[]) => Promise<unknown>;

export interface RedisFence {
  /**
   * The key of the gate, a hash. In a Redis Cluster it must be in the same slot as what it guards:
   * `{orders}:fence`.
   */
  readonly gate: string;
  /** The keys that the commands use; a Redis Cluster must know them. Default: none. */
  readonly keys?: readonly string[] | undefined;
}

/** A command and its arguments: `["SET", "orders", "…"]`. */
export type RedisCommand = readonly (string | number)[];

/**
 * KEYS: the gate, then the written keys. ARGV: mode, token, number of slots, slots, then for each
 * command its length and its parts. Replies {0, newest} or {1, replies…}.
 */
const SCRIPT = `
local gate, mode, token = KEYS[1], ARGV[1], ARGV[2]
local function seen(field) return redis.call('HGET', gate, field) or '0' end
local newest = '0'
local function look(field)
  local value = seen(field)
  if tonumber(value) > tonumber(newest) then newest = value end
end
local slots, at = {}, 4
for i = 1, tonumber(ARGV[3]) do
  slots[i] = 'slot:' .. ARGV[at]
  at = at + 1
end
look('exclusive')
if mode ~= 'shared' then look('shared') end
if mode ~= 'permits' then look('permits') end
for _, field in ipairs(slots) do look(field) end
if tonumber(token) < tonumber(newest) then return {0, newest} end
local function remember(field)
  if tonumber(token) > tonumber(seen(field)) then redis.call('HSET', gate, field, token) end
end
remember(mode)
for _, field in ipairs(slots) do remember(field) end
local replies = {1}
while at <= #ARGV do
  local length = tonumber(ARGV[at])
  replies[#replies + 1] = redis.call(unpack(ARGV, at + 1, at + length))
  at = at + 1 + length
end
return replies
`.trim();

/**
 * Runs `commands` in order if the gate admits the claim; resolves to their replies. Rejects with
 * `STALE_TOKEN` if the claim is too old, and with errors of Redis. A command that Redis refuses
 * stops those after it; those before it are not undone.
 */
export async function fencedRedis(
  send: RedisSend,
  fence: RedisFence,
  claim: Claim,
  commands: readonly RedisCommand[],
): Promise<unknown[]> {
  const checked = checkedClaim(claim);
  const reply = await send(evalOf(fence, checked, commands));
  if (!Array.isArray(reply) || reply.length === 0) throw strange(reply);
  const [passed, ...replies] = reply as unknown[];
  if (Number(passed) === 1) return replies;
  if (Number(passed) !== 0) throw strange(reply);
  throw staleToken(fence.gate, checked, Number(replies[0]));
}

function evalOf(fence: RedisFence, claim: Claim, commands: readonly RedisCommand[]): string[] {
  const { gate, keys = [] } = fence;
  const { mode, token, slots = [] } = claim;
  for (const command of commands) {
    if (command.length === 0) throw new TypeError("a Redis command is empty");
  }
  return [
    "EVAL",
    SCRIPT,
    String(1 + keys.length),
    gate,
    ...keys,
    mode,
    String(token),
    String(slots.length),
    ...slots.map(String),
    ...commands.flatMap((command) => [String(command.length), ...command.map(String)]),
  ];
}

function strange(reply: unknown): HoldfastError {
  return new HoldfastError("PROTOCOL", `Redis replied ${JSON.stringify(reply)} to the gate`);
}
