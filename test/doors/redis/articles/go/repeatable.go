package main

import (
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// The lock of go-zero: who holds it takes it again, which extends it. It lasts somewhat longer than was asked for.

const (
	takeAgainScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
  return "OK"
else
  return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])
end`
	msPerSecond = 800
	toleranceMs = 300
)

type repeatableLock struct {
	tokenLock
	seconds int
}

func (l *repeatableLock) take() bool {
	ms := strconv.Itoa(l.seconds*msPerSecond + toleranceMs)
	reply, err := l.client.Eval(ctx, takeAgainScript, []string{l.key}, l.value, ms).Result()
	if errors.Is(err, redis.Nil) {
		return false
	}
	return must(reply, err) == "OK"
}

func repeatable(addresses []string) {
	newLock := func(seconds int) *repeatableLock {
		return &repeatableLock{*newTokenLock(addresses[0], "article:repeatable", 0), seconds}
	}
	alice, bob, carol := newLock(20), newLock(30), newLock(1)
	say("alice takes", alice.take())
	say("bob takes", bob.take())
	say("alice extends", alice.take())
	before := must(alice.client.PTTL(ctx, alice.key).Result())
	alice.seconds = 30
	say("alice extends for longer", alice.take())
	say("it is longer", must(alice.client.PTTL(ctx, alice.key).Result()) > before)
	say("bob takes", bob.take())
	say("bob releases", bob.release())
	say("alice releases", alice.release())
	say("alice releases again", alice.release())
	say("carol takes, and never releases", carol.take())
	say("bob takes in the end", inTheEnd(bob.take))
	say("carol releases", carol.release())
	say("alice takes", alice.take())
	say("bob releases", bob.release())
}
