// Package holdfast takes locks of a Holdfast cluster over its HTTP API, with the standard library.
//
//	client, err := holdfast.New(holdfast.Config{})
//	lock, err := client.Lock(ctx, "orders/1001", holdfast.Options{Wait: 10 * time.Second})
//	defer lock.Unlock(context.Background())
//
// Each lock is a lease of a random owner that a goroutine extends. Its time counts from before the
// request that it answers was sent. The package never believes in a lock for longer than the cluster
// promised: when it may be over, Done is closed for good.
package holdfast

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
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
	quietTime        = 40 * time.Second // A watch without a sign of life for so long is dead; a node shows one every 15 s.
	endOfTime        = time.Duration(1 << 62)
	endless          = time.Hour // What a wait without end asks for; each repeat begins it again.
)

// Version of this package, and of the cluster that it was made with.
const Version = "0.1.0"

// What errors.Is compares with: an Error is the one that has its Code.
var (
	ErrLockHeld    error = &Error{Code: "LOCK_HELD"}    // Another has the lock, and Options.NoWait was set.
	ErrLockTimeout error = &Error{Code: "LOCK_TIMEOUT"} // The wait took longer than Options.Wait.
	ErrLockLost    error = &Error{Code: "LOCK_LOST"}    // The lock is no longer held; Error.Reason says why.
	ErrUnavailable error = &Error{Code: "UNAVAILABLE"}  // No node could serve the request in time.
)

// Error is a refusal or a failure. Its Code is one of docs/reference/errors.md and does not change.
type Error struct {
	Code, Message string
	Status        int    // The status of HTTP; 0 if no answer arrived.
	Reason        string // With LOCK_LOST: why the lock is over, such as "expired" or "revoked".
}

// Error returns the code and a sentence.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Is reports whether target is one of the errors of this package with the same code.
func (e *Error) Is(target error) bool {
	kind, isOne := target.(*Error)
	return isOne && *kind == Error{Code: e.Code}
}

// Config says where the nodes are and who the caller is.
type Config struct {
	// Endpoints are the URLs of nodes. Default: HOLDFAST_ENDPOINTS, with commas; else the ports of this machine.
	Endpoints []string
	// Token is the access token. Default: the file HOLDFAST_ACCESS_TOKEN_FILE, else HOLDFAST_ACCESS_TOKEN.
	Token string
	// HTTP sends the requests. It must have no Timeout, since requests wait. Default: one that follows no redirects,
	// and for https trusts the authorities of the system, or those in the file HOLDFAST_CA, and shows the certificate
	// in the files HOLDFAST_CERT and HOLDFAST_CERT_KEY.
	HTTP *http.Client
	// Patience is for how long to look for a node that can serve a request. Default: 10 s. A Lock that waits looks
	// for as long as it waits.
	Patience time.Duration
}

// Client knows the nodes of a cluster. Goroutines may share it, and there is nothing to close.
type Client struct {
	Config
	at atomic.Int64 // Never ends; the node has this number modulo their count.
}

// New returns a client. It connects to no node yet, and fails if an endpoint is not a URL or a file cannot be read.
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
	var err error
	if c.Token == "" {
		if c.Token, err = tokenOfEnvironment(); err != nil {
			return nil, err
		}
	}
	if c.HTTP == nil {
		if c.HTTP, err = newHTTP(); err != nil {
			return nil, err
		}
	}
	c.Patience = either(config.Patience, 10*time.Second)
	c.at.Store(spread(int64(len(c.Endpoints))))
	return c, nil
}

func tokenOfEnvironment() (string, error) {
	path := os.Getenv("HOLDFAST_ACCESS_TOKEN_FILE")
	if path == "" {
		return os.Getenv("HOLDFAST_ACCESS_TOKEN"), nil
	}
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}

func newHTTP() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = proxyForTLS
	transport.MaxIdleConnsPerHost = 16
	secure := &tls.Config{}
	if path := os.Getenv("HOLDFAST_CA"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("HOLDFAST_CA: there is no certificate in %s", path)
		}
	}
	if path := os.Getenv("HOLDFAST_CERT"); path != "" {
		certificate, err := tls.LoadX509KeyPair(path, either(os.Getenv("HOLDFAST_CERT_KEY"), path))
		if err != nil {
			return nil, err
		}
		secure.Certificates = []tls.Certificate{certificate}
	}
	transport.TLSClientConfig = secure
	// A node redirects nobody, and elsewhere the owner would not stay secret.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{CheckRedirect: stay, Transport: transport}, nil
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
	TrustMs              *float64 // nil: without end.
	Slots                [][]int
	Reason, Code, Detail string
	Details              struct{ Reason string }
	text                 []byte
}

// Look returns what the cluster says of a key, as JSON: Key in docs/reference/openapi.json.
func (c *Client) Look(ctx context.Context, key string) (json.RawMessage, error) {
	target := fixed("/v1/lock?" + url.Values{"key": {key}}.Encode())
	_, seen, err := c.ask(ctx, c.Patience, answerTime, "GET", http.Header{}, target)
	return seen.text, err
}

func fixed(target string) func() (string, []byte) {
	return func() (string, []byte) { return target, nil }
}

// search is one search for a node that accepts a request.
type search struct {
	client   *Client
	at       int64
	attempts int
	pause    time.Duration
}

func (c *Client) search() *search {
	s := &search{client: c}
	s.reset()
	return s
}

func (s *search) node() string {
	s.at = s.client.at.Load()
	return s.client.Endpoints[s.at%int64(len(s.client.Endpoints))]
}

// next goes on to the next node after a failure, and rests when all have failed.
func (s *search) next(ctx context.Context) {
	s.client.at.CompareAndSwap(s.at, s.at+1) // Goroutines that failed together go on to the same next node.
	if s.attempts++; s.attempts%len(s.client.Endpoints) == 0 {
		rest(ctx, s.pause/2+time.Duration(spread(int64(s.pause))))
		s.pause = shorter(2*s.pause, time.Second)
	}
}

// reset begins again, after a success.
func (s *search) reset() { s.attempts, s.pause = 0, 50*time.Millisecond }

// ask asks node after node for as long as patience until one accepts; returns when that request was sent.
// silence is how long one may take to answer; create makes target and body of each attempt.
func (c *Client) ask(ctx context.Context, patience, silence time.Duration, method string, headers http.Header,
	create func() (string, []byte)) (time.Time, answer, error) {
	began, search := time.Now(), c.search()
	for {
		node, sent := search.node(), time.Now()
		target, body := create()
		asking, cancel := context.WithTimeout(ctx, silence)
		got, err := c.send(asking, method, node+target, body, headers)
		cancel()
		if err == nil || !isRepeatable(err) {
			return sent, got, err
		}
		search.next(ctx)
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
	response, err := c.open(ctx, method, target, body, headers)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	return read(response)
}

// open sends one request, and returns the answer as far as its body, which the caller closes.
func (c *Client) open(ctx context.Context, method, target string, body []byte, headers http.Header) (*http.Response,
	error) {
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
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
		return nil, &Error{Code: "UNAVAILABLE", Message: err.Error()}
	}
	return response, nil
}

// read reads an answer to its end.
func read(response *http.Response) (got answer, err error) {
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
