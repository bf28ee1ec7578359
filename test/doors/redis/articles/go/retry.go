package main

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Waiting by asking: a random pause between attempts, and a deadline.

const pauseMax = 100 * time.Millisecond

func (l *tokenLock) takeBefore(deadline time.Time) bool {
	for !l.take() {
		pause := rand.N(pauseMax)
		if time.Now().Add(pause).After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

func retry(addresses []string) {
	newLock := func(ttl time.Duration) *tokenLock { return newTokenLock(addresses[0], "article:retry", ttl) }
	alice, bob := newLock(long), newLock(brief)
	say("alice takes", alice.takeBefore(time.Now()))
	say("bob gives up", !bob.takeBefore(time.Now().Add(time.Second)))
	waiting := make(chan bool)
	go func() { waiting <- bob.takeBefore(time.Now().Add(patience)) }()
	say("alice releases", alice.release())
	say("bob takes", <-waiting)
	say("alice takes when bob's lock has ended", alice.takeBefore(time.Now().Add(patience)))
	say("bob releases", bob.release())
	say("alice releases", alice.release())

	const workers, rounds = 4, 10
	var inside, together, done atomic.Int32
	var crowd sync.WaitGroup
	for range workers {
		crowd.Go(func() {
			for range rounds {
				worker := newLock(long)
				if !worker.takeBefore(time.Now().Add(patience)) {
					continue
				}
				if inside.Add(1) > 1 {
					together.Add(1)
				}
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				done.Add(int32(worker.release()))
				worker.client.Close()
			}
		})
	}
	crowd.Wait()
	say("rounds of the crowd", done.Load())
	say("two at once", together.Load())
}
