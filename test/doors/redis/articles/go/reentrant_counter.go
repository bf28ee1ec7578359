package main

import (
	"errors"
	"sync"
	"time"
)

// Reentrant by a counter in the memory of the holder, around a lock with a value.

var errNotHeld = errors.New("not held")

type countedLock struct {
	inner *tokenLock
	mutex sync.Mutex
	count int
}

func (l *countedLock) enter() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.count == 0 && !l.inner.take() {
		return false
	}
	l.count++
	return true
}

func (l *countedLock) leave() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.count == 0 {
		return errNotHeld
	}
	if l.count--; l.count > 0 {
		return nil
	}
	if l.inner.release() == 0 {
		return errNotHeld
	}
	return nil
}

func reentrantCounter(addresses []string) {
	newLock := func(ttl time.Duration) *countedLock {
		return &countedLock{inner: newTokenLock(addresses[0], "article:reentrant-counter", ttl)}
	}
	alice, bob, carol := newLock(long), newLock(long), newLock(brief)
	say("alice enters", alice.enter())
	say("alice enters", alice.enter())
	say("bob enters", bob.enter())
	say("bob leaves", bob.leave())
	say("alice leaves", alice.leave())
	say("bob enters", bob.enter())
	say("alice leaves", alice.leave())
	say("alice leaves once too often", alice.leave())
	say("carol enters", carol.enter())
	say("carol enters, and never leaves", carol.enter())
	say("bob enters in the end", inTheEnd(bob.enter))
	say("carol leaves", carol.leave())
	say("carol leaves", carol.leave())
	say("alice enters", alice.enter())
	say("bob leaves", bob.leave())
}
