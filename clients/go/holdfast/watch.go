package holdfast

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Change is one event of a watch.
type Change struct {
	// Type is "queued", "left", "granted", "converted", "updated", "moved", "ended" or "opened"; "begun" when the
	// watch has begun, and "reset" when the cluster has forgotten changes: then look at the keys, since what
	// follows begins with now.
	Type string `json:"-"`
	// ID is what a later watch goes on after.
	ID string `json:"-"`

	Key         string // Empty with "begun" and "reset".
	Mode        string // "exclusive", "shared" or "permits".
	SessionName string // The name of the owner, as its take gave it.
	Identity    string
	Value       string
	Reason      string // Why a hold ended.
	Token       int64  // The fencing token.
	Session     int64  // 0 for an owner of the HTTP API.
	Task        int64
	Sequence    int64
	Stamp       int64 // Cluster time in milliseconds.
	WallMs      int64 // The clock of the leader, in milliseconds since 1970.
}

// Watch is a watch of keys.
type Watch struct {
	// C has the changes, in their order. It is closed when the watch is over.
	C <-chan Change

	err error // Written before C is closed.
}

// Err says why the watch is over: the error of its context, or the refusal of a node. Call it after C was closed.
func (w *Watch) Err() error { return w.err }

// Watch reports the changes of all keys that begin with prefix as they happen, until ctx ends. It reconnects to any node
// and misses nothing. If after is not empty, it begins after the change with that ID. It fails with ErrUnavailable
// if no node serves it at its beginning, and with another *Error if a node refuses it.
func (c *Client) Watch(ctx context.Context, prefix, after string) *Watch {
	changes := make(chan Change)
	watch := &Watch{C: changes}
	go func() {
		defer close(changes)
		w := &watching{client: c, changes: changes, lastID: after, search: c.search()}
		w.target = "/v1/watch?" + url.Values{"prefix": {prefix}}.Encode()
		watch.err = w.run(ctx)
	}()
	return watch
}

// watching is a watch over all its connections.
type watching struct {
	client  *Client
	changes chan<- Change
	target  string
	lastID  string
	isBegun bool
	search  *search
}

func (w *watching) run(ctx context.Context) error {
	began := time.Now()
	for {
		asked := time.Now()
		err := w.read(ctx, w.search.node())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !isRepeatable(err) || (!w.isBegun && since(began) >= w.client.Patience) {
			return err
		}
		w.search.next(ctx)
		rest(ctx, 100*time.Millisecond-since(asked)) // Never in a busy loop.
	}
}

// read sends on the changes of one connection until that ends.
func (w *watching) read(ctx context.Context, node string) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(answerTime, cancel)
	defer quiet.Stop()
	headers := http.Header{"Accept": {"text/event-stream"}}
	if w.lastID != "" {
		headers.Set("Last-Event-ID", w.lastID)
	}
	response, err := w.client.open(reading, "GET", node+w.target, nil, headers)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		_, err := read(response)
		return err
	}
	event, lines := map[string]string{}, bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return &Error{Code: "UNAVAILABLE", Message: "the watch broke off: " + err.Error()}
		}
		quiet.Reset(quietTime)
		line = strings.TrimRight(line, "\r\n")
		if line != "" {
			name, value, _ := strings.Cut(line, ":") // A comment has no name.
			event[name] = strings.TrimPrefix(value, " ")
			continue
		}
		quiet.Stop() // A program that is slow to take a change is not a node that is quiet.
		if err := w.note(ctx, event); err != nil {
			return err
		}
		quiet.Reset(quietTime)
		event = map[string]string{}
	}
}

// note sends on the change that an event says.
func (w *watching) note(ctx context.Context, event map[string]string) error {
	w.lastID = either(event["id"], w.lastID)
	if event["data"] == "" {
		return nil // It shows that the connection lives.
	}
	isBegun := w.isBegun
	w.isBegun = true
	w.search.reset()
	if event["event"] == "begun" && isBegun {
		return nil // It goes on where it was.
	}
	change := Change{Type: event["event"], ID: w.lastID}
	if err := json.Unmarshal([]byte(event["data"]), &change); err != nil {
		return &Error{Code: "UNAVAILABLE", Message: "the watch broke off: " + err.Error()}
	}
	select {
	case w.changes <- change:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
