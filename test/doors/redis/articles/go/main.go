// Locks as articles about Redis teach them: written by hand with go-redis, without a library for locks.
//
// `articles SAMPLE ADDRESS …` takes the steps of one sample at these servers, and prints what each came to. That depends
// neither on time nor on chance, so that what is printed at two kinds of servers can be compared. Whatever a sample
// does not expect ends the program.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

var samples = map[string]func(addresses []string){
	"token":             token,
	"token-v8":          tokenV8,
	"watchdog":          watchdog,
	"watchdog-ms":       watchdogMs,
	"redlock":           redlocks,
	"retry":             retry,
	"reentrant-hash":    reentrantHash,
	"reentrant-counter": reentrantCounter,
	"repeatable":        repeatable,
}

const (
	// Long enough for all that is done while such a lock is held.
	long = 30 * time.Second
	// Locks that nobody releases have it.
	brief = time.Second
	// So long somebody waits for a lock that ends by its expiry.
	patience = 60 * time.Second
)

var ctx = context.Background()

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 || samples[os.Args[1]] == nil {
		log.Fatal("usage: articles SAMPLE ADDRESS …")
	}
	samples[os.Args[1]](os.Args[2:])
}

// say prints one step.
func say(what string, outcome any) {
	fmt.Printf("%s: %v\n", what, outcome)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// connect is the client of one process.
func connect(address string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: address})
}

// unique is a value that nobody else has.
func unique() string {
	return rand.Text()
}

// inTheEnd says whether take succeeds before patience is at an end.
func inTheEnd(take func() bool) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if take() {
			return true
		}
	}
	return false
}
