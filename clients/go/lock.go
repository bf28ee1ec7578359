package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Options of a lock. With Limit or Permits it is some permits of a semaphore.
type Options struct {
	TTL            time.Duration // How long the lock outlives this process. Default: 15 s.
	Wait           time.Duration // How long it may wait. Default: as long as the context allows.
	NoWait         bool          // Fails with LOCK_HELD instead of waiting.
	Shared         bool          // Shares the lock with other shared holders.
	Permits, Limit int           // Default: 1 permit, if there is a limit.
	With           []string      // Further keys, taken in the same step as one lock with one token.
	Name           string        // What others see of the owner.
}

// Lock is held until Unlock, or until it is lost.
type Lock struct {
	Token int64   // The fencing token.
	Slots [][]int // For each semaphore, the numbers of the permits.

	client  *Client
	ttl     time.Duration
	key     string // As a parameter of a query: it names the lock, whatever other keys that has.
	headers http.Header
	over    context.Context // Done when the lock is lost or given back.
	end     context.CancelFunc
	mutex   sync.Mutex // Guards the fields below.
	sent    time.Time
	trust   time.Duration // Counts from sent.
	err     *Error
}

// Lock waits for the lock of key. It fails with LOCK_HELD, LOCK_TIMEOUT, UNAVAILABLE and other codes, or
// with the error of ctx, which the lock does not need any longer once it is returned.
func (c *Client) Lock(ctx context.Context, key string, options Options) (*Lock, error) {
	l := &Lock{client: c, ttl: either(options.TTL, 15*time.Second), key: url.Values{"key": {key}}.Encode()}
	l.headers = http.Header{"Holdfast-Owner": {random()}, "Idempotency-Key": {random()}}
	if options.Name != "" {
		l.headers.Set("Holdfast-Name", options.Name)
	}
	l.over, l.end = context.WithCancel(context.Background())
	err := l.take(ctx, key, options)
	if err == nil {
		go l.keep()
		return l, nil
	}
	l.end()
	// What may have been granted is given back as well as possible; else it ends with its lease.
	if e := (*Error)(nil); !errors.As(err, &e) || isRepeatable(err) || e.Code == "PROTOCOL" || l.Token != 0 {
		leaving, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		_, _, _ = c.ask(leaving, 0, answerTime, "DELETE", l.headers, fixed("/v1/lock?"+l.key))
	}
	return nil, err
}

// Done is closed when the lock is lost, or given back.
func (l *Lock) Done() <-chan struct{} { return l.over.Done() }

// Err is nil for as long as the lock is held; then LOCK_LOST, with the Reason "released" after Unlock.
func (l *Lock) Err() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.err == nil && since(l.sent) >= l.trust {
		l.err = lost("expired")
		l.end()
	}
	if l.err == nil {
		return nil
	}
	return l.err
}

// Unlock gives the lock back. It fails with LOCK_LOST if the lock was lost before.
func (l *Lock) Unlock(ctx context.Context) error {
	_ = l.Err() // Notices that the time is over.
	loss := l.lose("released")
	c := l.client
	_, given, err := c.ask(ctx, c.Patience, answerTime, "DELETE", l.headers, fixed("/v1/lock?"+l.key))
	if loss.Reason != "released" {
		return loss
	}
	// A repeat finds what an earlier request, whose answer did not arrive, has released.
	if err == nil && !given.Released && given.Reason != "released" {
		return lost(either(given.Reason, "unknown"))
	}
	return err
}

func (l *Lock) take(ctx context.Context, key string, options Options) error {
	began, patience, wait := time.Now(), either(options.Wait, 1<<62), either(options.Wait, endless)
	if options.NoWait {
		patience, wait = l.client.Patience, 0
	}
	items := []map[string]any{}
	for _, each := range append([]string{key}, options.With...) {
		item := map[string]any{"key": each}
		if options.Shared {
			item["mode"] = "shared"
		}
		if options.Permits > 0 || options.Limit > 0 {
			item["permits"] = either(options.Permits, 1)
		}
		if options.Limit > 0 {
			item["limit"] = options.Limit
		}
		items = append(items, item)
	}
	create := func() (string, []byte) {
		left := wait
		if options.Wait > 0 && !options.NoWait {
			left -= shorter(since(began), wait-time.Millisecond)
		}
		wish := map[string]any{"items": items, "ttl": l.ttl.Milliseconds(), "wait": left.Milliseconds()}
		body, _ := json.Marshal(wish)
		return "/v1/locks", body
	}
	for {
		sent, given, err := l.client.ask(ctx, patience, answerTime+shorter(wait, poll), "POST", l.headers, create)
		if err != nil {
			return err
		}
		if !given.Queued {
			l.Token, l.Slots = given.Token, given.Slots
			l.trusted(sent, given)
			if l.left() <= 0 { // The grant took too long to arrive.
				if err := l.extend(ctx, l.client.Patience); err != nil {
					return err
				}
			}
			return l.Err()
		}
		rest(ctx, 100*time.Millisecond-since(sent)) // Never in a busy loop.
	}
}

// keep extends the lock at a third of its TTL, and says when its time is over.
func (l *Lock) keep() {
	tried := time.Now()
	for l.Err() == nil {
		// Wakes up each second, to notice soon that the machine has slept.
		rest(l.over, shorter(time.Second, shorter(l.left(), l.ttl/3-since(tried))))
		if left := l.left(); left > 0 && since(tried) >= l.ttl/3 {
			tried = time.Now()
			asking, cancel := context.WithTimeout(l.over, left)
			_ = l.extend(asking, left) // Tried again, until the time is over.
			cancel()
		}
	}
}

func (l *Lock) extend(ctx context.Context, patience time.Duration) error {
	target := fixed(fmt.Sprintf("/v1/lock/extend?%s&ttl=%d", l.key, l.ttl.Milliseconds()))
	sent, given, err := l.client.ask(ctx, patience, shorter(answerTime, l.ttl/3), "POST", l.headers, target)
	if e := (*Error)(nil); errors.As(err, &e) && e.Code == "NOT_HELD" {
		return l.lose(either(e.Reason, "unknown"))
	}
	if err == nil {
		l.trusted(sent, given)
	}
	return err
}

func (l *Lock) trusted(sent time.Time, given answer) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	trust := time.Duration(given.TrustMs) * time.Millisecond
	if trust-since(sent) > l.trust-since(l.sent) || l.sent.IsZero() {
		l.sent, l.trust = sent, trust
	}
}

func (l *Lock) left() time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.trust - since(l.sent)
}

// lose ends the lock, if it has not ended before, and returns why it did.
func (l *Lock) lose(reason string) *Error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.err == nil {
		l.err = lost(reason)
	}
	l.end()
	return l.err
}

func lost(reason string) *Error {
	return &Error{Code: "LOCK_LOST", Message: "the lock is over: " + reason, Reason: reason}
}
