/** Lock scripts as people write them, and scripts that are refused, the first ones by what they do. */
export interface ScriptText {
  readonly what: string;
  readonly text: string;
}

export const LOCK_SCRIPTS: readonly ScriptText[] = [
  {
    what: "a release in one line with semicolons",
    text: 'if redis.call("GET",KEYS[1])==ARGV[1] then return redis.call("DEL",KEYS[1]); else return 0; end;',
  },
  {
    what: "a release with names, a comment of several lines and UNLINK",
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
    text: `if redis.call('exists', KEYS[1]) == 0 then return 0 end
      if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) return 1
      else return 0 end`,
  },
  {
    what: "a release by and-or",
    text: "return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0",
  },
  {
    what: "a release by a local function",
    text: `local function isMine(key, id)
        return redis.call('GET', key) == id
      end
      if isMine(KEYS[1], ARGV[1]) then return redis.call('DEL', KEYS[1]) end
      return 0`,
  },
  {
    what: "a release that says that the key is gone",
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

/** Each is refused when its key is held by `ARGV[1]`, and then nothing is done. */
export const SCRIPTS_THAT_DO_TOO_MUCH: readonly (readonly [why: string, text: string])[] = [
  ["releases without comparing", "return redis.call('del', KEYS[1])"],
  [
    "releases the lock of another",
    "if redis.call('get', KEYS[1]) ~= ARGV[2] then return redis.call('del', KEYS[1]) end return 0",
  ],
  ["overwrites", "return redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3])"],
  [
    "changes the value",
    `if redis.call('get', KEYS[1]) == ARGV[1] then
      return redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3]) end return 0`,
  ],
  [
    "extends without comparing",
    "if redis.call('exists', KEYS[1]) == 1 then return redis.call('pexpire', KEYS[1], ARGV[3]) end",
  ],
  [
    "takes the expiry away",
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('set', KEYS[1], ARGV[1]) end",
  ],
  ["uses another key", "return redis.call('get', KEYS[1] .. 'data')"],
  ["counts what is not a lock", "return redis.call('incr', KEYS[1] .. ':count')"],
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
    `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end
      local a = 1 return {${"a,".repeat(65)}}`,
  ],
  [
    "fails after it has released",
    "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) return nil .. 'x' end",
  ],
  [
    "fails in Redis after it has released",
    `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1])
      return redis.call('set', KEYS[1], ARGV[1], 'PX', 'x') end`,
  ],
  ["does not end", "local function f() return f() end return f()"],
  ["counts for long", "for i = 1, 100000000 do redis.call('get', KEYS[1]) end"],
  [
    "goes over a list without an order",
    "local t = {} t[1] = 1 for i, k in pairs(t) do return k end",
  ],
];

/** Each is refused whatever it is called with, also by SCRIPT LOAD. */
export const TEXTS_THAT_ARE_NOT_READ: readonly (readonly [why: string, text: string])[] = [
  [
    "counts down",
    "local n = redis.call('decr', KEYS[1]) redis.call('pexpire', KEYS[1], 9) return n",
  ],
  ["persists", "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('persist', KEYS[1]) end"],
  ["has a second store", "if ARGV[1] == 'x' then return redis.pcall('LPUSH', KEYS[2], 1) end"],
  ["reads the clock", "return redis.call('time')[1]"],
  ["uses what is not there", "return string.format('%s', ARGV[1])"],
  ["makes a global name", "n = 1 return n"],
  ["uses a global name", "return cjson.encode(KEYS)"],
  ["has a loop without an end", "while true do end"],
  ["is not Lua", "SELECT * FROM locks"],
  ["has a string that does not end", "return redis.call('get"],
  ["has a comment that does not end", "--[[ return 1"],
  ["is long", `return 1${" ".repeat(9_000)}`],
  ["is deep", `return ${"(".repeat(1_000)}1${")".repeat(1_000)}`],
];

/** Clients that no test runs, and whose texts are not at hand, with the scripts above that do the same. */
export const CLIENTS_BY_SCRIPT: readonly {
  readonly client: string;
  /** Each is a `what` of `LOCK_SCRIPTS`, or a name in `SAME_IN_MEANING`. */
  readonly scripts: readonly string[];
}[] = [
  {
    client: "RedLock.net",
    scripts: ["release", "an extension that takes what is gone, or says who holds"],
  },
  { client: "Medallion DistributedLock.Redis", scripts: ["release", "extend"] },
];
