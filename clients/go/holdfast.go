// Package holdfast takes locks of a Holdfast cluster over its HTTP API, with the standard library.
//
// Each lock is a lease of a random owner that a goroutine extends. Its time counts from before the
// request that it answers was sent. The package never believes in a lock for longer than the cluster
// promised: when it may be over, Done is closed for good.
package holdfast

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

const (
	defaultEndpoints = "http://127.0.0.1:7411,http://127.0.0.1:7412,http://127.0.0.1:7413"
	poll             = 45 * time.Second // A node answers a request that waits after this time at the latest.
	answerTime       = 5 * time.Second  // How long any other answer may take.
	endless          = time.Hour        // What a wait without end asks for; each repeat begins it again.
)

// Error is a refusal or a failure. Code is one of docs/reference/errors.md and does not change.
type Error struct {
	Code, Message string
	Status        int    // The status of HTTP; 0 if no answer arrived.
	Reason        string // With LOCK_LOST: why the lock is over.
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Config says where the nodes are and who the caller is.
type Config struct {
	Endpoints []string      // Default: HOLDFAST_ENDPOINTS, with commas; else the ports of this machine.
	Token     string        // The access token. Default: HOLDFAST_ACCESS_TOKEN.
	HTTP      *http.Client  // For TLS. It must have no Timeout, since requests wait.
	Patience  time.Duration // For how long to look for a node that can serve a request. Default: 10 s.
}

// Client may be shared by goroutines.
type Client struct {
	Config
	at atomic.Int64
}

// New fails if an endpoint is not a URL.
func New(config Config) (*Client, error) {
	if len(config.Endpoints) == 0 {
		config.Endpoints = strings.Split(either(os.Getenv("HOLDFAST_ENDPOINTS"), defaultEndpoints), ",")
	}
	c := &Client{Config: config}
	c.Endpoints = nil
	for _, text := range config.Endpoints {
		node, err := url.Parse(strings.TrimSpace(text))
		if err != nil || node.Host == "" {
			return nil, fmt.Errorf("%q is not the URL of a node, such as http://10.0.0.1:7411", text)
		}
		node.Scheme = strings.Replace(node.Scheme, "ws", "http", 1) // Endpoints of the SDK name the same port.
		c.Endpoints = append(c.Endpoints, strings.TrimSuffix(node.String(), "/"))
	}
	c.Token = either(config.Token, os.Getenv("HOLDFAST_ACCESS_TOKEN"))
	// A node redirects nobody, and elsewhere the owner would not stay secret.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = proxyForTLS
	c.HTTP = either(config.HTTP, &http.Client{CheckRedirect: stay, Transport: transport})
	c.Patience = either(config.Patience, 10*time.Second)
	c.at.Store(spread(int64(len(c.Endpoints))))
	return c, nil
}

// proxyForTLS lets a proxy of the environment carry what TLS hides, and never an owner in clear text.
func proxyForTLS(request *http.Request) (*url.URL, error) {
	if request.URL.Scheme != "https" {
		return nil, nil
	}
	return http.ProxyFromEnvironment(request)
}

type answer struct {
	Queued, Released     bool
	Token                int64
	TrustMs              float64
	Slots                [][]int
	Reason, Code, Detail string
	Details              struct{ Reason string }
	text                 []byte
}

// Look returns what the cluster says of a key, as JSON.
func (c *Client) Look(ctx context.Context, key string) (json.RawMessage, error) {
	target := fixed("/v1/lock?" + url.Values{"key": {key}}.Encode())
	_, seen, err := c.ask(ctx, c.Patience, answerTime, "GET", http.Header{}, target)
	return seen.text, err
}

func fixed(target string) func() (string, []byte) {
	return func() (string, []byte) { return target, nil }
}

// ask asks node after node for as long as patience until one accepts; returns when that request was sent.
// silence is how long one may take to answer; create makes target and body of each attempt.
func (c *Client) ask(ctx context.Context, patience, silence time.Duration, method string, headers http.Header,
	create func() (string, []byte)) (time.Time, answer, error) {
	began, pause := time.Now(), 50*time.Millisecond
	for attempts := 1; ; attempts++ {
		at, sent := c.at.Load(), time.Now()
		target, body := create()
		asking, cancel := context.WithTimeout(ctx, silence)
		got, err := c.send(asking, method, c.Endpoints[at%int64(len(c.Endpoints))]+target, body, headers)
		cancel()
		if err == nil || !isRepeatable(err) {
			return sent, got, err
		}
		c.at.CompareAndSwap(at, at+1) // Goroutines that failed together go on to the same next node.
		if attempts%len(c.Endpoints) == 0 {
			rest(ctx, pause/2+time.Duration(spread(int64(pause))))
			pause = shorter(2*pause, time.Second)
		}
		if ctx.Err() != nil {
			return sent, got, ctx.Err()
		}
		if since(began) >= patience {
			return sent, got, err
		}
	}
}

// send sends one request. Its answer is a success, or the error says what it is.
func (c *Client) send(ctx context.Context, method, target string, body []byte, headers http.Header) (answer, error) {
	var got answer
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return got, err
	}
	request.Header = headers.Clone()
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return got, &Error{Code: "UNAVAILABLE", Message: err.Error()}
	}
	defer response.Body.Close()
	if got.text, err = io.ReadAll(response.Body); err != nil {
		return got, &Error{Code: "UNAVAILABLE", Message: err.Error()}
	}
	failure := &Error{Code: "PROTOCOL", Message: response.Status, Status: response.StatusCode}
	if isRepeatable(failure) {
		failure.Code = "UNAVAILABLE"
	}
	// Only a proxy answers anything but JSON, which is not a success whatever its status says.
	if json.Unmarshal(got.text, &got) == nil {
		if failure.Status == 200 || failure.Status == 202 {
			return got, nil
		}
		failure.Code, failure.Message = either(got.Code, failure.Code), either(got.Detail, failure.Message)
		failure.Reason = got.Details.Reason
	}
	return got, failure
}

// isRepeatable: no answer arrived, or it came from a node that does not know, or from a proxy
// before it; or a copy of the request, made on the way, waits in its place.
func isRepeatable(err error) bool {
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case 0:
		return e.Code == "UNAVAILABLE"
	case 500, 502, 503, 504:
		return true
	}
	return e.Code == "CANCELLED"
}

// since counts the time in which the machine sleeps too, by its wall clock.
func since(then time.Time) time.Duration {
	now := time.Now()
	return -shorter(then.Sub(now), then.Round(0).Sub(now.Round(0)))
}

func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func shorter(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

func either[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// spread returns a number below n that differs between processes and calls.
func spread(n int64) int64 { return time.Now().UnixNano() % n }

func random() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}
