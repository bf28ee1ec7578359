// Lock clients of Redis in Go, as their users use them.
//
// `lock-clients steps CLIENT=ADDRESS …` takes the same steps with each client, and prints what each step came to.
// `lock-clients fault CLIENT=ADDRESS,ADDRESS … …` takes a lock with each client, prints "holding", waits for a line while
// the test does something to the servers, and goes on. Whatever a client does not promise ends the program.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"
)

// lock is what one user holds, or not. An error says that the outcome is not known.
type lock interface {
	take() (bool, error)
	extend() (bool, error)
	release() (bool, error)
}

// newLock makes a lock of a user of its own, with a connection of its own. Several addresses are the nodes of one
// cluster.
type newLock func(addresses []string, key string, ttl time.Duration) lock

var clients = map[string]newLock{
	"bsm/redislock":        newRedislock,
	"redsync and go-redis": newRedsyncByGoRedis,
	"redsync and redigo":   newRedsyncByRedigo,
}

const (
	// Long enough for all that is done while such a lock is held.
	long = 60 * time.Second
	// Locks that nobody releases have it.
	brief = time.Second
	// So long somebody tries again.
	patience = 60 * time.Second
	pause    = 50 * time.Millisecond
)

var ctx = context.Background()

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: lock-clients steps|fault CLIENT=ADDRESS[,ADDRESS …] …")
	}
	var users []func(ttl time.Duration) lock
	var names []string
	for _, word := range os.Args[2:] {
		name, addresses, _ := strings.Cut(word, "=")
		make, isKnown := clients[name]
		if !isKnown {
			log.Fatalf("no client is called %s", name)
		}
		names = append(names, name)
		users = append(users, func(ttl time.Duration) lock {
			return make(strings.Split(addresses, ","), "client:"+name, ttl)
		})
	}
	switch os.Args[1] {
	case "steps":
		for at, user := range users {
			steps(names[at], user)
		}
	case "fault":
		fault(names, users)
	default:
		log.Fatalf("no mode is called %s", os.Args[1])
	}
}

func steps(name string, user func(ttl time.Duration) lock) {
	alice, bob, carol := user(long), user(long), user(brief)
	say := func(what string, call func() (bool, error)) {
		outcome, err := call()
		if err != nil {
			log.Fatalf("%s: %s: %v", name, what, err)
		}
		fmt.Printf("%s: %s: %v\n", name, what, outcome)
	}
	say("alice takes", alice.take)
	say("bob takes", bob.take)
	say("alice extends", alice.extend)
	say("alice releases", alice.release)
	say("bob takes", bob.take)
	say("alice releases", alice.release)
	say("carol takes", carol.take)
	say("bob releases", bob.release)
	say("carol takes, and never releases", carol.take)
	say("bob takes in the end", func() (bool, error) { return inTheEnd(bob.take), nil })
	say("carol releases", carol.release)
	say("alice takes", alice.take)
	say("bob releases", bob.release)
}

func fault(names []string, users []func(ttl time.Duration) lock) {
	say := func(name, what string, call func() (bool, error)) {
		fmt.Printf("%s: %s: %v\n", name, what, inTheEndKnown(call))
	}
	var alices, bobs []lock
	for at, user := range users {
		alice := user(long)
		say(names[at], "alice takes", alice.take)
		alices, bobs = append(alices, alice), append(bobs, user(long))
	}
	fmt.Println("holding")
	bufio.NewReader(os.Stdin).ReadString('\n')
	for at, name := range names {
		say(name, "bob takes", bobs[at].take)
		say(name, "alice extends", alices[at].extend)
		say(name, "alice releases", alices[at].release)
		say(name, "bob takes", bobs[at].take)
		say(name, "bob releases", bobs[at].release)
	}
}

// inTheEnd says whether take succeeds before patience is at an end.
func inTheEnd(take func() (bool, error)) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(pause) {
		if taken, err := take(); err == nil && taken {
			return true
		}
	}
	return false
}

// inTheEndKnown repeats a call until its outcome is known.
func inTheEndKnown(call func() (bool, error)) bool {
	deadline := time.Now().Add(patience)
	for {
		outcome, err := call()
		if err == nil {
			return outcome
		}
		if time.Now().After(deadline) {
			log.Fatal(err)
		}
		time.Sleep(pause)
	}
}
