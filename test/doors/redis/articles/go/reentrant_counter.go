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
	tell("alice enters", alice.enter())
	tell("alice enters", alice.enter())
	tell("bob enters", bob.enter())
	tell("bob leaves", bob.leave())
	tell("alice leaves", alice.leave())
	tell("bob enters", bob.enter())
	tell("alice leaves", alice.leave())
	tell("alice leaves once too often", alice.leave())
	tell("carol enters", carol.enter())
	tell("carol enters, and never leaves", carol.enter())
	tell("bob enters in the end", inTheEnd(bob.enter))
	tell("carol leaves", carol.leave())
	tell("carol leaves", carol.leave())
	tell("alice enters", alice.enter())
	tell("bob leaves", bob.leave())
}
