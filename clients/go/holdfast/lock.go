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

// Options of a lock. The zero value waits for an exclusive lock for as long as the context allows.
type Options struct {
	TTL            time.Duration // How long the lock outlives this process, at most a day. Default: 15 s.
	Endless        bool          // Never ends by itself, instead of a TTL; the cluster must allow that.
	Wait           time.Duration // How long it may wait. Default: as long as the context allows.
	NoWait         bool          // Fails with LOCK_HELD instead of waiting.
	Shared         bool          // Shares the lock with other shared holders.
	Permits, Limit int           // Takes permits of a semaphore. Default: 1 permit, if there is a limit.
	With           []string      // Further keys, taken in the same step and way as one lock with one token.
	WithItems      []Item        // The same, each in a way of its own. At most 16 keys in all.
	Name           string        // What others see of the owner, at most 256 bytes.
}

// Item is a key, and how it is taken.
type Item struct {
	Key            string
	Shared         bool
	Permits, Limit int
}

// MarshalJSON writes the item as the HTTP API takes it.
func (i Item) MarshalJSON() ([]byte, error) {
	wish := map[string]any{"key": i.Key}
	if i.Shared {
		wish["mode"] = "shared"
	}
	if i.Permits > 0 || i.Limit > 0 {
		wish["permits"] = either(i.Permits, 1)
	}
	if i.Limit > 0 {
		wish["limit"] = i.Limit
	}
	return json.Marshal(wish)
}

// Lock is held until Unlock, or until it is lost. Goroutines may share it.
type Lock struct {
	Token int64   // The fencing token, higher than every earlier one of its keys.
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

// Lock waits for the lock of key, of 1 to 512 bytes. It fails with ErrLockHeld, ErrLockTimeout, ErrUnavailable or
// another *Error, or with the error of ctx; then it has left the queue. The lock does not end with ctx: see Context.
func (c *Client) Lock(ctx context.Context, key string, options Options) (*Lock, error) {
	l := &Lock{client: c, ttl: either(options.TTL, 15*time.Second), key: url.Values{"key": {key}}.Encode()}
	if options.Endless {
		l.ttl = 0
	}
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

// Done is closed when the lock is lost, or given back. Err then says which.
func (l *Lock) Done() <-chan struct{} { return l.over.Done() }

// Err is nil for as long as the lock is held; then it is ErrLockLost, with the Reason "released" after Unlock. It
// looks at the clock, so it is right even before Done is closed.
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

// Remaining is for how long the lock can be relied on without another extension; 0: it is not held.
func (l *Lock) Remaining() time.Duration {
	if l.Err() != nil {
		return 0
	}
	return l.left()
}

// Context returns a copy of parent that is cancelled when the lock is lost or given back. With Go 1.20 and later,
// context.Cause of it is the error of the lock. Call the function when the context is not needed any more.
func (l *Lock) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := withCause(parent)
	go func() {
		select {
		case <-l.Done():
			cancel(l.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// Extend makes the lock last for at least ttl from now, at most a day; 0: as long as its Options said. A goroutine
// extends it anyway; this is for a time in which that may not run. It fails with ErrLockLost if the lock is lost;
// after another error the lock is held as before.
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	if err := l.Err(); err != nil {
		return err
	}
	if ttl = either(ttl, l.ttl); ttl <= 0 {
		return &Error{Code: "INVALID_ARGUMENT", Message: "a lock is extended by a TTL of more than 0"}
	}
	err := l.extend(ctx, ttl, shorter(l.left(), l.client.Patience))
	if loss := l.Err(); loss != nil {
		return loss
	}
	return err
}

// Unlock gives the lock back. It fails with ErrLockLost if the lock was lost before. If it fails in another way, the
// lock ends with its lease. So that a cancelled ctx does not keep it, pass one that is not cancelled.
func (l *Lock) Unlock(ctx context.Context) error {
	_ = l.Err() // Notices that the time is over.
	loss, patience := l.lose("released"), l.client.Patience
	if loss.Reason != "released" {
		patience = 0 // The cluster may hold it a little longer than this process believes: that need not be.
	}
	_, given, err := l.client.ask(ctx, patience, answerTime, "DELETE", l.headers, fixed("/v1/lock?"+l.key))
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
	began, patience, wait := time.Now(), either(options.Wait, endOfTime), either(options.Wait, endless)
	if options.NoWait {
		patience, wait = l.client.Patience, 0
	}
	items := []Item{}
	for _, each := range append([]string{key}, options.With...) {
		items = append(items, Item{each, options.Shared, options.Permits, options.Limit})
	}
	items = append(items, options.WithItems...)
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
			if err := l.trusted(sent, given); err != nil {
				return err
			}
			if l.left() <= 0 { // The grant took too long to arrive.
				if err := l.extend(ctx, l.ttl, l.client.Patience); err != nil {
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
		due := endOfTime
		if l.ttl > 0 {
			due = l.ttl/3 - since(tried)
		}
		// Wakes up each second, to notice soon that the machine has slept.
		rest(l.over, shorter(time.Second, shorter(l.left(), due)))
		if left := l.left(); left > 0 && l.ttl > 0 && since(tried) >= l.ttl/3 {
			tried = time.Now()
			asking, cancel := context.WithTimeout(l.over, left)
			_ = l.extend(asking, l.ttl, left) // Tried again, until the time is over.
			cancel()
		}
	}
}

func (l *Lock) extend(ctx context.Context, ttl, patience time.Duration) error {
	target := fixed(fmt.Sprintf("/v1/lock/extend?%s&ttl=%d", l.key, ttl.Milliseconds()))
	silence := shorter(answerTime, either(l.ttl, ttl)/3) // So that other nodes can be asked in time.
	sent, given, err := l.client.ask(ctx, patience, silence, "POST", l.headers, target)
	if e := (*Error)(nil); errors.As(err, &e) && e.Code == "NOT_HELD" {
		return l.lose(either(e.Reason, "unknown"))
	}
	if err == nil {
		err = l.trusted(sent, given)
	}
	return err
}

// trusted believes in the lease of an answer. Only a node says for how long.
func (l *Lock) trusted(sent time.Time, given answer) error {
	if given.Token == 0 {
		return &Error{Code: "PROTOCOL", Message: "what answers is not a node", Status: http.StatusOK}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	trust := endOfTime
	if given.TrustMs != nil {
		trust = time.Duration(*given.TrustMs) * time.Millisecond
	}
	if trust-since(sent) > l.trust-since(l.sent) || l.sent.IsZero() {
		l.sent, l.trust = sent, trust
	}
	return nil
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
