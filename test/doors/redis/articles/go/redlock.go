package main

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// Redlock written by hand: ask all servers in turn, and count.

type handRedlock struct {
	clients []*redis.Client
	key     string
	value   string
	ttl     time.Duration
}

func newRedlock(addresses []string, ttl time.Duration) *handRedlock {
	l := &handRedlock{key: "article:redlock", value: unique(), ttl: ttl}
	for _, address := range addresses {
		// A server that does not answer costs little time.
		options := &redis.Options{Addr: address, MaxRetries: -1, DialerRetries: 1}
		l.clients = append(l.clients, redis.NewClient(options))
	}
	return l
}

func (l *handRedlock) take() bool {
	begin, count := time.Now(), 0
	for _, client := range l.clients {
		if taken, err := client.SetNX(ctx, l.key, l.value, l.ttl).Result(); err == nil && taken {
			count++
		}
	}
	if count > len(l.clients)/2 && time.Since(begin) < l.ttl {
		return true
	}
	l.release()
	return false
}

// release is the number of servers that had the lock.
func (l *handRedlock) release() int64 {
	var count int64
	for _, client := range l.clients {
		if deleted, err := client.Eval(ctx, releaseScript, []string{l.key}, l.value).Int64(); err == nil {
			count += deleted
		}
	}
	return count
}

func redlocks(addresses []string) {
	alice, bob, carol := newRedlock(addresses, long), newRedlock(addresses, long), newRedlock(addresses, 5*brief)
	isTaken := alice.take()
	say("alice takes", isTaken)
	if !isTaken {
		return
	}
	say("bob takes", bob.take())
	say("bob releases", bob.release())
	say("alice releases", alice.release())
	say("carol takes, and never releases", carol.take())
	say("bob takes in the end", inTheEnd(bob.take))
	say("alice takes", alice.take())
	// What was first free and then taken may be missing.
	say("bob releases at a majority", bob.release() > int64(len(addresses)/2))
}
