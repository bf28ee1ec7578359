//go:build !go1.20

package holdfast

import (
	"context"
	"testing"
)

// Contexts have no cause before Go 1.20.
func requireCause(*testing.T, context.Context, string) {}
