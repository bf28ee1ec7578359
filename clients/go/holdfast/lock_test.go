package holdfast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// node answers takes with a grant, unless the key is "held", and extends with a refusal.
func node(t *testing.T) *Client {
	left := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		switch request.Method + request.URL.Path {
		case "POST/v1/locks":
			if strings.Contains(string(body), `"held"`) {
				<-left
			}
			fmt.Fprint(answer, `{"token":7,"trustMs":54000,"endsInMs":60000}`)
		case "DELETE/v1/lock":
			if request.URL.Query().Get("key") == "held" {
				close(left)
			}
			fmt.Fprint(answer, `{"released":true,"leftQueue":false,"reason":null}`)
		case "POST/v1/lock/extend":
			answer.WriteHeader(http.StatusConflict)
			fmt.Fprint(answer, `{"code":"NOT_HELD","detail":"a sentence","details":{"reason":"revoked"}}`)
		}
	}))
	t.Cleanup(server.Close)
	client, err := New(Config{Endpoints: []string{server.URL}, Token: "token"})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestAContextOfALockIsCancelledWhenTheLockIsLost(t *testing.T) {
	lock, err := node(t).Lock(context.Background(), "orders/1001", Options{TTL: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := lock.Context(context.Background())
	defer cancel()
	<-ctx.Done()
	if ctx.Err() != context.Canceled || !errors.Is(lock.Err(), ErrLockLost) || lock.Remaining() != 0 {
		t.Fatal(ctx.Err(), lock.Err(), lock.Remaining())
	}
	requireCause(t, ctx, "revoked")
	if err := lock.Unlock(context.Background()); !errors.Is(err, ErrLockLost) {
		t.Fatal(err)
	}
}

func TestAContextOfALockIsCancelledWhenTheLockIsGivenBack(t *testing.T) {
	lock, err := node(t).Lock(context.Background(), "orders/1001", Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := lock.Context(context.Background())
	defer cancel()
	if err := lock.Unlock(context.Background()); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	requireCause(t, ctx, "released")
}

func TestAContextThatEndsLeavesTheQueue(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	// The node answers the request only when it was left; its closing waits for that answer.
	if _, err := node(t).Lock(ctx, "held", Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestErrorsAreComparedByTheirCode(t *testing.T) {
	var err error = fmt.Errorf("outer: %w", &Error{Code: "LOCK_HELD", Message: "a sentence", Status: 409})
	if !errors.Is(err, ErrLockHeld) || errors.Is(err, ErrLockLost) {
		t.Fatal(err)
	}
}
