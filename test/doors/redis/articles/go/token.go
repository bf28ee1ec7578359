package main

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// The lock that most articles begin with: SET with NX and an expiry, under a random value, and a script that deletes the
// key only while it has that value.

const releaseScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
else
  return 0
end`

type lock interface {
	take() bool
	// release is how many keys were deleted.
	release() int64
}

type tokenLock struct {
	client *redis.Client
	key    string
	value  string
	ttl    time.Duration
}

func newTokenLock(address, key string, ttl time.Duration) *tokenLock {
	return &tokenLock{connect(address), key, unique(), ttl}
}

func (l *tokenLock) take() bool {
	return must(l.client.SetNX(ctx, l.key, l.value, l.ttl).Result())
}

func (l *tokenLock) release() int64 {
	return must(l.client.Eval(ctx, releaseScript, []string{l.key}, l.value).Int64())
}

func token(addresses []string) {
	tellToken(func(ttl time.Duration) lock { return newTokenLock(addresses[0], "article:token", ttl) })
}

// tellToken takes the same steps for every library.
func tellToken(newLock func(ttl time.Duration) lock) {
	alice, bob, carol := newLock(long), newLock(long), newLock(brief)
	say("alice takes", alice.take())
	say("bob takes", bob.take())
	say("alice takes again", alice.take())
	say("bob releases", bob.release())
	say("alice releases", alice.release())
	say("alice releases again", alice.release())
	say("carol takes, and never releases", carol.take())
	say("bob takes at once", bob.take())
	say("bob takes in the end", inTheEnd(bob.take))
	say("carol releases", carol.release())
	say("alice takes", alice.take())
	say("bob releases", bob.release())
}
