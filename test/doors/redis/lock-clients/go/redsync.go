package main

import (
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-redsync/redsync/v4/redis/redigo"
)

type redsyncLock struct{ *redsync.Mutex }

func newRedsyncByGoRedis(addresses []string, key string, ttl time.Duration) lock {
	return newRedsync(goredis.NewPool(goRedis(addresses)), key, ttl)
}

func newRedsyncByRedigo(addresses []string, key string, ttl time.Duration) lock {
	return newRedsync(redigo.NewPool(redigoPool(addresses)), key, ttl)
}

func newRedsync(pool redis.Pool, key string, ttl time.Duration) lock {
	return redsyncLock{redsync.New(pool).NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1))}
}

func (l redsyncLock) take() (bool, error) {
	err := l.TryLock()
	return err == nil, unlessOthers(err)
}

func (l redsyncLock) extend() (bool, error) {
	extended, err := l.Extend()
	return extended, unlessOthers(err)
}

func (l redsyncLock) release() (bool, error) {
	released, err := l.Unlock()
	return released, unlessOthers(err)
}

// unlessOthers leaves out the errors by which redsync says that the lock is another one's.
func unlessOthers(err error) error {
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) || errors.Is(err, redsync.ErrExtendFailed) {
		return nil
	}
	return err
}
