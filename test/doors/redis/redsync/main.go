// Locks by redsync, unchanged, over the servers whose addresses are its arguments.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
)

func main() {
	var pools []redis.Pool
	for _, address := range os.Args[1:] {
		client := goredislib.NewClient(&goredislib.Options{Addr: address})
		pools = append(pools, goredis.NewPool(client))
	}
	sync := redsync.New(pools...)
	options := []redsync.Option{redsync.WithExpiry(30 * time.Second), redsync.WithTries(3)}
	one, other := sync.NewMutex("k", options...), sync.NewMutex("k", options...)
	for round := 0; round < 6; round++ {
		if err := one.Lock(); err != nil {
			fmt.Println("lock:", strings.SplitN(err.Error(), "\n", 2)[0])
			continue
		}
		fmt.Println("other:", other.TryLock() != nil)
		extended, err := one.Extend()
		fmt.Println("extended:", extended, err)
		released, err := one.Unlock()
		fmt.Println("released:", released, err)
		one, other = other, one
	}
}
