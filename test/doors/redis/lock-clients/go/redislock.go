package main

import (
	"errors"
	"time"

	"github.com/bsm/redislock"
)

type bsmLock struct {
	client *redislock.Client
	key    string
	ttl    time.Duration
	held   *redislock.Lock
}

func newRedislock(addresses []string, key string, ttl time.Duration) lock {
	return &bsmLock{client: redislock.New(goRedis(addresses)), key: key, ttl: ttl}
}

func (l *bsmLock) take() (bool, error) {
	held, err := l.client.Obtain(ctx, l.key, l.ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	if err == nil {
		l.held = held
	}
	return err == nil, err
}

func (l *bsmLock) extend() (bool, error) {
	err := l.held.Refresh(ctx, l.ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	return err == nil, err
}

func (l *bsmLock) release() (bool, error) {
	err := l.held.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return false, nil
	}
	return err == nil, err
}
