package main

import (
	"errors"
	"time"

	redigolib "github.com/gomodule/redigo/redis"
	goredislib "github.com/redis/go-redis/v9"
)

// goRedis asks the nodes as sentinels if there are several.
func goRedis(addresses []string) *goredislib.Client {
	if len(addresses) == 1 {
		return goredislib.NewClient(&goredislib.Options{Addr: addresses[0]})
	}
	return goredislib.NewFailoverClient(&goredislib.FailoverOptions{
		MasterName:    "mymaster",
		SentinelAddrs: addresses,
	})
}

// redigoPool dials by hand, because redigo knows no sentinels: it takes the first node that answers.
func redigoPool(addresses []string) *redigolib.Pool {
	return &redigolib.Pool{
		Dial: func() (redigolib.Conn, error) {
			var failures error
			for _, address := range addresses {
				connection, err := redigolib.Dial("tcp", address, redigolib.DialConnectTimeout(time.Second))
				if err == nil {
					return connection, nil
				}
				failures = errors.Join(failures, err)
			}
			return nil, failures
		},
	}
}
