package main

import (
	"strconv"
	"time"
)

// A lock whose holder extends it three times within each expiry, until it releases it or has lost it.

const (
	expireScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("EXPIRE", KEYS[1], ARGV[2])
else
  return 0
end`
	pexpireScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
else
  return 0
end`
	// The release without an else.
	releaseOrZeroScript = `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0`
)

const watchedTTL = 6 * time.Second

type watchedLock struct {
	*tokenLock
	extendScript  string
	releaseScript string
	// The expiry as the script wants it, a number as text.
	expiry string
	// One value for each extension that succeeded; closed when the watchdog has ended.
	extended chan struct{}
	stop     chan struct{}
}

func (l *watchedLock) take() bool {
	if !l.tokenLock.take() {
		return false
	}
	l.extended, l.stop = make(chan struct{}, 1000), make(chan struct{})
	go l.watch(l.extended, l.stop)
	return true
}

func (l *watchedLock) watch(extended chan<- struct{}, stop <-chan struct{}) {
	defer close(extended)
	ticker := time.NewTicker(l.ttl / 3)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			if l.extend() == 0 {
				return
			}
			extended <- struct{}{}
		}
	}
}

func (l *watchedLock) extend() int64 {
	return must(l.client.Eval(ctx, l.extendScript, []string{l.key}, l.value, l.expiry).Int64())
}

// endWatch is what is left of a holder that is gone.
func (l *watchedLock) endWatch() {
	close(l.stop)
	for range l.extended {
	}
}

func (l *watchedLock) release() int64 {
	l.endWatch()
	return l.delete()
}

func (l *watchedLock) delete() int64 {
	return must(l.client.Eval(ctx, l.releaseScript, []string{l.key}, l.value).Int64())
}

func watchdog(addresses []string) {
	tellWatchdog(func() *watchedLock {
		inner := newTokenLock(addresses[0], "article:watchdog", watchedTTL)
		seconds := strconv.Itoa(int(watchedTTL.Seconds()))
		return &watchedLock{tokenLock: inner, extendScript: expireScript, releaseScript: releaseScript, expiry: seconds}
	})
}

func watchdogMs(addresses []string) {
	tellWatchdog(func() *watchedLock {
		inner := newTokenLock(addresses[0], "article:watchdog-ms", watchedTTL)
		ms := strconv.FormatInt(watchedTTL.Milliseconds(), 10)
		return &watchedLock{tokenLock: inner, extendScript: pexpireScript, releaseScript: releaseOrZeroScript, expiry: ms}
	})
}

func tellWatchdog(newLock func() *watchedLock) {
	alice, bob := newLock(), newLock()
	say("alice takes", alice.take())
	// Later than the lock would end without them.
	extensions := 0
	for range alice.extended {
		if extensions++; extensions == 4 {
			break
		}
	}
	say("alice extends", extensions)
	say("bob takes", bob.take())
	say("bob extends", bob.extend())
	say("bob deletes", bob.delete())
	say("alice releases", alice.release())
	say("alice extends what is free", alice.extend())
	say("alice takes", alice.take())
	alice.endWatch()
	say("bob takes when alice is gone", inTheEnd(bob.take))
	say("alice extends what bob has", alice.extend())
	say("alice deletes", alice.delete())
	say("bob releases", bob.release())
}
