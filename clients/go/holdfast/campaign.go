package holdfast

import (
	"context"
	"errors"
)

// Campaign calls work while this process is the leader of key, and returns its error.
//
// It waits until it leads; a term is a Lock, whose Token fences what the leader writes. The context of work is the
// one of term.Context: it is cancelled when the term is lost. Then this process is a candidate again, and work is
// called again with the next term, unless it returned an error that is neither ErrLockLost nor context.Canceled.
// Campaign also returns when ctx ends, or when a node refuses the candidate.
func (c *Client) Campaign(ctx context.Context, key string, options Options,
	work func(ctx context.Context, term *Lock) error) error {
	for {
		term, err := c.Lock(ctx, key, options)
		isLost := errors.Is(err, ErrLockLost)
		if err == nil {
			isLost, err = c.lead(ctx, term, work)
		}
		if !isLost {
			return err
		}
	}
}

// lead does the work of one term, and says whether that was lost, so that the work is to be done again.
func (c *Client) lead(ctx context.Context, term *Lock, work func(context.Context, *Lock) error) (isLost bool, err error) {
	leading, leave := term.Context(ctx)
	defer func() {
		leave()
		leaving, cancel := context.WithTimeout(context.Background(), c.Patience)
		defer cancel()
		end := term.Unlock(leaving)
		isGivenUp := err == nil || errors.Is(err, ErrLockLost) || errors.Is(err, context.Canceled)
		isLost = isGivenUp && errors.Is(end, ErrLockLost)
		if err == nil {
			err = end
		}
	}()
	return false, work(leading, term)
}
