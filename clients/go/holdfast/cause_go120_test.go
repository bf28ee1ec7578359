//go:build go1.20

package holdfast

import (
	"context"
	"errors"
	"testing"
)

func requireCause(t *testing.T, ctx context.Context, reason string) {
	t.Helper()
	cause := (*Error)(nil)
	if !errors.As(context.Cause(ctx), &cause) || !errors.Is(cause, ErrLockLost) || cause.Reason != reason {
		t.Fatal(context.Cause(ctx))
	}
}
