package main

import (
	"time"

	redisv8 "github.com/go-redis/redis/v8"
)

// The same lock with the library as it was before version 9.

type tokenLockV8 struct {
	client *redisv8.Client
	key    string
	value  string
	ttl    time.Duration
}

func (l *tokenLockV8) take() bool {
	return must(l.client.SetNX(ctx, l.key, l.value, l.ttl).Result())
}

func (l *tokenLockV8) release() int64 {
	return must(l.client.Eval(ctx, releaseScript, []string{l.key}, l.value).Int64())
}

func tokenV8(addresses []string) {
	tellToken(func(ttl time.Duration) lock {
		client := redisv8.NewClient(&redisv8.Options{Addr: addresses[0]})
		return &tokenLockV8{client, "article:token-v8", unique(), ttl}
	})
}
