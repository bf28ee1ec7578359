package main

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// Reentrant by a hash with the fields owner and count.

var enterScript = redis.NewScript(`
local owner = redis.call("HGET", KEYS[1], "owner")
local count = redis.call("HGET", KEYS[1], "count")
if not owner then
  redis.call("HSET", KEYS[1], "owner", ARGV[1])
  redis.call("HSET", KEYS[1], "count", 1)
  redis.call("EXPIRE", KEYS[1], ARGV[2])
  return 1
elseif owner == ARGV[1] then
  count = redis.call("HINCRBY", KEYS[1], "count", 1)
  redis.call("EXPIRE", KEYS[1], ARGV[2])
  return count
else
  return 0
end`)

var leaveScript = redis.NewScript(`
if redis.call("HGET", KEYS[1], "owner") ~= ARGV[1] then
  return 0
end
if tonumber(redis.call("HGET", KEYS[1], "count")) > 1 then
  redis.call("HINCRBY", KEYS[1], "count", -1)
else
  redis.call("DEL", KEYS[1])
end
return 1`)

type hashLock struct {
	client *redis.Client
	key    string
	owner  string
	ttl    time.Duration
}

// enter is how often the owner is inside; 0: somebody else is.
func (l *hashLock) enter() int64 {
	return must(enterScript.Run(ctx, l.client, []string{l.key}, l.owner, int(l.ttl.Seconds())).Int64())
}

func (l *hashLock) leave() int64 {
	return must(leaveScript.Run(ctx, l.client, []string{l.key}, l.owner).Int64())
}

func reentrantHash(addresses []string) {
	newLock := func(ttl time.Duration) *hashLock {
		return &hashLock{connect(addresses[0]), "article:reentrant-hash", unique(), ttl}
	}
	alice, bob, carol := newLock(long), newLock(long), newLock(brief)
	for range 3 {
		say("alice enters", alice.enter())
	}
	say("bob enters", bob.enter())
	say("bob leaves", bob.leave())
	for range 3 {
		say("bob enters", bob.enter())
		say("alice leaves", alice.leave())
	}
	say("alice leaves once too often", alice.leave())
	say("carol enters, and never leaves", carol.enter())
	say("bob enters in the end", inTheEnd(func() bool { return bob.enter() == 1 }))
	say("carol leaves", carol.leave())
	say("alice enters", alice.enter())
	say("bob leaves", bob.leave())
}
