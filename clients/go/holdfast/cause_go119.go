//go:build !go1.20

package holdfast

import "context"

// withCause drops the cause, which contexts cannot show before Go 1.20.
func withCause(parent context.Context) (context.Context, func(error)) {
	ctx, cancel := context.WithCancel(parent)
	return ctx, func(error) { cancel() }
}
