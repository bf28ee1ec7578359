// Command driver plays the client's part of one transcript with the Go client, and prints what it reports.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"holdfast.example/clients/go/holdfast"
)

type wish struct {
	Looks, Holds string
	Elects       bool
	ExtendsMs    int64
	Watches      *struct {
		Prefix  string
		Changes int
	}
	Lock struct {
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
	err = play(client, w)
	var failure *holdfast.Error
	switch {
	case errors.Is(err, holdfast.ErrLockLost):
		errors.As(err, &failure)
		report(map[string]any{"outcome": "lost", "reason": failure.Reason})
	case errors.As(err, &failure):
		report(map[string]any{"outcome": failure.Code})
	default:
		must(err)
	}
}

func play(client *holdfast.Client, w wish) error {
	ctx := context.Background()
	options := holdfast.Options{TTL: ms(w.Lock.TTLMs), Endless: w.Lock.TTLMs == 0, Shared: w.Lock.Shared,
		Permits: w.Lock.Permits, Limit: w.Lock.Limit, Name: w.Lock.Name}
	switch {
	case w.Looks != "":
		view, err := client.Look(ctx, w.Looks)
		if err == nil {
			report(map[string]any{"view": view})
		}
		return err
	case w.Watches != nil:
		return watch(client, w.Watches.Prefix, w.Watches.Changes)
	case w.Elects:
		return lead(client, w.Lock.Keys[0], options)
	}
	options.With = w.Lock.Keys[1:]
	if w.Lock.WaitMs != nil {
		options.Wait, options.NoWait = ms(*w.Lock.WaitMs), *w.Lock.WaitMs == 0
	}
	lock, err := client.Lock(ctx, w.Lock.Keys[0], options)
	if err != nil {
		return err
	}
	must(lock.Err())
	report(map[string]any{"token": lock.Token, "slots": lock.Slots})
	if w.ExtendsMs > 0 {
		if err := lock.Extend(ctx, ms(w.ExtendsMs)); err != nil {
			_ = lock.Unlock(ctx)
			return err
		}
		report(map[string]any{"isExtended": lock.Remaining() > ms(w.Lock.TTLMs)})
	}
	if w.Holds != "" {
		hold(lock)
	}
	if err := lock.Unlock(ctx); err != nil {
		return err
	}
	report(map[string]any{"outcome": "released"})
	return nil
}

func watch(client *holdfast.Client, prefix string, count int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watch, seen := client.Watch(ctx, prefix, ""), []map[string]string{}
	for change := range watch.C {
		seen = append(seen, map[string]string{"type": change.Type, "key": change.Key})
		if len(seen) == count {
			report(map[string]any{"changes": seen})
			return nil
		}
	}
	return watch.Err()
}

func lead(client *holdfast.Client, key string, options holdfast.Options) error {
	tokens := []int64{}
	err := client.Campaign(context.Background(), key, options, func(ctx context.Context, term *holdfast.Lock) error {
		tokens = append(tokens, term.Token)
		if len(tokens) == 1 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	if err == nil {
		report(map[string]any{"tokens": tokens, "outcome": "released"})
	}
	return err
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
