// Command driver plays the client's part of one transcript with the Go client, and prints what it reports.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	holdfast "holdfast.example/go"
)

type wish struct {
	Looks, Holds string
	Lock         struct {
		Keys           []string
		TTLMs          int64
		WaitMs         *int64
		Shared         bool
		Permits, Limit int
		Name           string
	}
}

func main() {
	var w wish
	must(json.Unmarshal([]byte(os.Args[1]), &w))
	client, err := holdfast.New(holdfast.Config{})
	must(err)
	ctx := context.Background()
	if w.Looks != "" {
		view, err := client.Look(ctx, w.Looks)
		must(err)
		report(map[string]any{"view": view})
		return
	}
	options := holdfast.Options{TTL: ms(w.Lock.TTLMs), Shared: w.Lock.Shared, Permits: w.Lock.Permits,
		Limit: w.Lock.Limit, Name: w.Lock.Name, With: w.Lock.Keys[1:]}
	if w.Lock.WaitMs != nil {
		options.Wait, options.NoWait = ms(*w.Lock.WaitMs), *w.Lock.WaitMs == 0
	}
	lock, err := client.Lock(ctx, w.Lock.Keys[0], options)
	if err == nil {
		must(lock.Err())
		report(map[string]any{"token": lock.Token, "slots": lock.Slots})
		if w.Holds != "" {
			hold(lock)
		}
		err = lock.Unlock(ctx)
	}
	var failure *holdfast.Error
	switch {
	case err == nil:
		report(map[string]any{"outcome": "released"})
	case errors.As(err, &failure) && failure.Code == "LOCK_LOST":
		report(map[string]any{"outcome": "lost", "reason": failure.Reason})
	case errors.As(err, &failure):
		report(map[string]any{"outcome": failure.Code})
	default:
		must(err)
	}
}

func hold(lock *holdfast.Lock) {
	told := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(told)
	}()
	select {
	case <-told:
	case <-lock.Done():
	}
}

func ms(count int64) time.Duration { return time.Duration(count) * time.Millisecond }

func report(what map[string]any) { must(json.NewEncoder(os.Stdout).Encode(what)) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}
