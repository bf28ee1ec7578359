/**
 * Lock scripts as people write them: each is a text, what it is for, and the known script that means
 * the same, if there is one.
 */
import type { KnownScript } from "../../../../src/doors/redis/scripts/index.js";

export interface LockScript {
  readonly what: string;
  readonly text: string;
  readonly means?: KnownScript["meaning"];
}

export const LOCK_SCRIPTS: readonly LockScript[] = [
  {
    what: "a release in one line with semicolons",
    means: "release",
    text: 'if redis.call("GET",KEYS[1])==ARGV[1] then return redis.call("DEL",KEYS[1]); else return 0; end;',
  },
  {
    what: "a release with names, a comment of several lines and UNLINK",
    means: "release",
    text: `--[[ only the owner
      may release ]]
      local lockKey, owner = KEYS[1], ARGV[1]
      local current = redis.call('Get', lockKey) -- nil if it is gone
      if (current ~= owner) then
        return 0
      end
      return redis.pcall('unlink', lockKey)`,
  },
  {
    what: "a release that asks first whether the key is there",
    means: "release",
    text: `if redis.call('exists', KEYS[1]) == 0 then return 0 end
      if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) return 1
      else return 0 end`,
  },
  {
    what: "a release by and-or",
    means: "release",
    text: "return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0",
  },
  {
    what: "a release by a local function",
    means: "release",
    text: `local function isMine(key, id)
        return redis.call('GET', key) == id
      end
      if isMine(KEYS[1], ARGV[1]) then return redis.call('DEL', KEYS[1]) end
      return 0`,
  },
  {
    what: "a release that says that the key is gone",
    means: "releaseSayingGone",
    text: `local v = redis.call('GET', KEYS[1])
      if v == ARGV[1] then return redis.call('DEL', KEYS[1])
      elseif v == false then return -1 end
      return 0`,
  },
  {
    what: "a release by exceptions",
    text: `local v = redis.call('GET', KEYS[1])
      if not v then return redis.error_reply('gone') end
      if v ~= ARGV[1] then return redis.error_reply('NOTMINE held by another') end
      redis.call('DEL', KEYS[1])
      return redis.status_reply('OK')`,
  },
  {
    what: "an extension by SET",
    text: `if redis.call('get', KEYS[1]) == ARGV[1] then
        redis.call('psetex', KEYS[1], ARGV[2], ARGV[1])
        return 1
      end
      return 0`,
  },
  {
    what: "an extension by SET XX",
    text: `if redis.call('get', KEYS[1]) == ARGV[1] then
        return redis.call('set', KEYS[1], ARGV[1], 'XX', 'PX', ARGV[2]) and 1 or 0
      else return 0 end`,
  },
  {
    what: "an extension in seconds",
    text: `if redis.call('get', KEYS[1]) == ARGV[1] then
      return redis.call('expire', KEYS[1], tonumber(ARGV[2])) end return 0`,
  },
  {
    what: "an extension in seconds that are multiplied",
    text: `if redis.call('get', KEYS[1]) == ARGV[1] then
      return redis.call('pexpire', KEYS[1], ARGV[2] * 1000) end return 0`,
  },
  {
    what: "a take by SETNX and EXPIRE",
    text: `if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
        redis.call('expire', KEYS[1], ARGV[2])
        return 1
      else
        return 0
      end`,
  },
  {
    what: "a take that answers whether it has an end",
    text: `local taken = redis.call('SETNX', KEYS[1], ARGV[1])
      if taken == 1 then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
      return taken`,
  },
  {
    what: "a take by GET and SET",
    text: `local held = redis.call('get', KEYS[1])
      if held then return false end
      return redis.call('set', KEYS[1], ARGV[1], 'EX', ARGV[2])`,
  },
  {
    what: "a take that repeats by its owner",
    text: `local id = redis.call('GET', KEYS[1])
      if not id or id == ARGV[1] then
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return true
      end
      return false`,
  },
  {
    what: "a take whose reply is looked at by its type",
    text: `if redis.call('get', KEYS[1]) == ARGV[1] then
        return redis.call('PEXPIRE', KEYS[1], ARGV[2])
      else
        local reply = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
        if type(reply) == 'table' then return 1 else return 0 end
      end`,
  },
  {
    what: "a take that answers how long it is held",
    text: `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return nil end
      return redis.call('pttl', KEYS[1])`,
  },
  {
    what: "a take that answers who holds",
    text: `local held = redis.call('get', KEYS[1])
      if held then return {0, held, redis.call('ttl', KEYS[1])} end
      redis.call('setex', KEYS[1], ARGV[2], ARGV[1])
      return {1, ARGV[1], false}`,
  },
  {
    what: "an extension that takes what is gone, or says who holds",
    text: `local held = redis.call('get', KEYS[1])
      if held == false then
        return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) and 1 or 0
      elseif held == ARGV[1] then
        return redis.call('pexpire', KEYS[1], ARGV[2])
      else
        return -1
      end`,
  },
  {
    what: "an extension that takes what is gone if an argument says so",
    text: `local held = redis.call('get', KEYS[1])
      if held == false then
        if ARGV[3] == "1" then
          return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) and 2 or 0
        end
        return -2
      elseif held == ARGV[1] then
        redis.call('pexpire', KEYS[1], ARGV[2])
        return 1
      end
      return -1`,
  },
  {
    what: "a take of several keys by local functions",
    text: `local function pexpire(ttl)
        for _, key in ipairs(KEYS) do redis.call("pexpire", key, ttl) end
      end
      local function isMine()
        local n = tonumber(ARGV[2])
        for _, key in ipairs(KEYS) do
          if redis.call("getrange", key, 0, n-1) ~= string.sub(ARGV[1], 1, n) then return false end
        end
        return true
      end
      local pairsToSet = {}
      for _, key in ipairs(KEYS) do
        table.insert(pairsToSet, key)
        table.insert(pairsToSet, ARGV[1])
      end
      if redis.call("msetnx", unpack(pairsToSet)) ~= 1 then
        if isMine() == false then return false end
        redis.call("mset", unpack(pairsToSet))
      end
      pexpire(ARGV[3])
      return redis.status_reply("OK")`,
  },
  {
    what: "a release of several keys, all or none",
    text: `local values = redis.call("mget", unpack(KEYS))
      for i, _ in ipairs(KEYS) do
        if values[i] ~= ARGV[1] then return false end
      end
      redis.call("del", unpack(KEYS))
      return redis.status_reply("OK")`,
  },
  {
    what: "an extension of several keys, all or none",
    text: `local values = redis.call("mget", unpack(KEYS))
      for i, _ in ipairs(KEYS) do
        if values[i] ~= ARGV[1] then return false end
      end
      for _, key in ipairs(KEYS) do redis.call("pexpire", key, ARGV[2]) end
      return redis.status_reply("OK")`,
  },
];

/** Each looks like a lock script, and must not be taken for one. */
export const REFUSED_SCRIPTS: readonly (readonly [why: string, text: string])[] = [
  ["releases without comparing", "return redis.call('del', KEYS[1])"],
  [
    "compares with a constant",
    "if redis.call('get', KEYS[1]) == '1' then return redis.call('del', KEYS[1]) end return 0",
  ],
  [
    "releases the lock of another",
    "if redis.call('get', KEYS[1]) ~= ARGV[1] then return redis.call('del', KEYS[1]) end return 0",
  ],
  ["overwrites", "return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])"],
  [
    "changes the value",
    `if redis.call('get', KEYS[1]) == ARGV[1] then
      return redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3]) end return 0`,
  ],
  [
    "compares one key and releases another",
    `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[2]) end return 0`,
  ],
  [
    "extends without comparing",
    "if redis.call('exists', KEYS[1]) == 1 then return redis.call('pexpire', KEYS[1], ARGV[2]) end",
  ],
  [
    "counts",
    "local n = redis.call('incr', KEYS[1]) redis.call('pexpire', KEYS[1], ARGV[1]) return n",
  ],
  [
    "has a second store",
    `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
      return redis.call('incr', KEYS[2]) end return 0`,
  ],
  [
    "treats the third key differently",
    `for i, key in ipairs(KEYS) do
      if i == 3 then return 0 end
      if redis.call('exists', key) == 1 then return 0 end
    end
    for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end
    return #KEYS`,
  ],
  [
    "takes the first key only",
    `for i, key in ipairs(KEYS) do
      if redis.call('set', key, ARGV[1], 'NX', 'PX', ARGV[2]) then return key end
    end
    return 0`,
  ],
  ["only answers a constant", "return 1"],
  ["does not end", "while true do end"],
  ["reads the clock", "return redis.call('time')[1]"],
  ["is no Lua", "SELECT * FROM locks"],
  ["is empty", ""],
  ["has a string that does not end", "return redis.call('get"],
  ["has a comment that does not end", "--[[ return 1"],
  [
    "compares seconds that remain with milliseconds",
    `local t = redis.call('ttl', KEYS[1])
      if t == -2 then return 0 end
      if t < tonumber(ARGV[3]) then return -1 end
      if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
      return 0`,
  ],
  [
    "releases in a loop that may have no round",
    `if redis.call('get', KEYS[1]) == ARGV[1] then
      for i = 1, tonumber(ARGV[2]) do redis.call('del', KEYS[1]) end return 1 end return 0`,
  ],
  [
    "has a function that keeps the first of two names",
    `local d = 0
      local function f() if d == 1 then redis.call('del', KEYS[1]) end return d end
      local d = 1
      if redis.call('get', KEYS[1]) == ARGV[1] then return f() end return 0`,
  ],
  [
    "passes the first of several values",
    `for _, key in ipairs(KEYS) do
      if redis.call('get', key) ~= ARGV[1] then return 0 end
    end
    redis.call('del', (unpack(KEYS))) return #KEYS`,
  ],
  [
    "passes several values before another",
    `for _, key in ipairs(KEYS) do
      if redis.call('get', key) ~= ARGV[1] then return 0 end
    end
    redis.call('del', unpack(KEYS), KEYS[1]) return #KEYS`,
  ],
  [
    "keeps several values by one name",
    `for _, key in ipairs(KEYS) do
      if redis.call('get', key) ~= ARGV[1] then return 0 end
    end
    local keys = unpack(KEYS) redis.call('del', keys) return #KEYS`,
  ],
  [
    "publishes what others said",
    `if redis.call('exists', KEYS[1]) == 1 then return 1 end
      redis.call('publish', ARGV[1], ARGV[2]) return 0`,
  ],
  [
    "publishes without releasing",
    `if redis.call('get', KEYS[1]) == ARGV[1] then
      redis.call('publish', ARGV[2], KEYS[1]) return 1 end return 0`,
  ],
  [
    "publishes nothing of its key",
    `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1])
      redis.call('publish', ARGV[2], ARGV[3]) return 1 end return 0`,
  ],
  [
    "publishes again and again",
    `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1])
      ${"redis.call('publish', ARGV[2], KEYS[1]) ".repeat(5)} return 1 end return 0`,
  ],
  [
    "answers a long list",
    `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
      local a = 1 return {${"a,".repeat(65)}}`,
  ],
  [
    "answers a long text",
    `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
      return '${"a".repeat(1_001)}'`,
  ],
  [
    "has an expression that is too deep for a function that calls itself",
    `local function f() return f()${"+1".repeat(980)} end return f()`,
  ],
  [
    "declares many names",
    `${"for i = 1, #KEYS do ".repeat(4)} local ${Array.from({ length: 400 }, (_, at) => `a${at}`).join()} ${"end ".repeat(4)}`,
  ],
  ["persists", "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('persist', KEYS[1]) end"],
];
