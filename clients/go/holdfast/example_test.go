package holdfast_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"holdfast.example/clients/go/holdfast"
)

var (
	client *holdfast.Client
	db     *sql.DB
)

func Example() {
	client, err := holdfast.New(holdfast.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	lock, err := client.Lock(ctx, "orders/1001", holdfast.Options{Wait: 5 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Unlock(context.Background())
	fmt.Println("the fencing token is above 0:", lock.Token > 0)
}

// The work gets a context that ends when the lock is lost, and the fencing token.
func ExampleLock_Context() {
	pay := func(ctx context.Context, id int64) error {
		lock, err := client.Lock(ctx, fmt.Sprintf("orders/%d", id), holdfast.Options{Wait: 5 * time.Second})
		if err != nil {
			return err
		}
		defer lock.Unlock(context.Background())
		ctx, cancel := lock.Context(ctx)
		defer cancel()

		changed, err := db.ExecContext(ctx,
			"update orders set state = 'paid', fence = $1 where id = $2 and (fence is null or fence <= $1)",
			lock.Token, id)
		if err != nil {
			return err
		}
		if count, _ := changed.RowsAffected(); count == 0 {
			return errors.New("somebody with a newer fencing token was here")
		}
		return lock.Err()
	}
	_ = pay
}

func ExampleLock_Done() {
	ctx := context.Background()
	lock, err := client.Lock(ctx, "imports/daily", holdfast.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Unlock(context.Background())
	for _, row := range []int{1, 2, 3} {
		if err := lock.Err(); err != nil { // ErrLockLost, as soon as its time is over
			log.Fatal(err)
		}
		write(row, lock.Token)
	}
	select {
	case <-time.After(10 * time.Millisecond):
	case <-lock.Done():
		log.Fatal(lock.Err())
	}
}

func ExampleClient_Lock_noWait() {
	ctx := context.Background()
	lock, err := client.Lock(ctx, "jobs/nightly", holdfast.Options{NoWait: true})
	if errors.Is(err, holdfast.ErrLockHeld) {
		fmt.Println("somebody else is at it")
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Unlock(context.Background())
}

func ExampleClient_Lock_severalKeys() {
	ctx := context.Background()
	both, err := client.Lock(ctx, "accounts/17", holdfast.Options{With: []string{"accounts/4"}})
	if err != nil {
		log.Fatal(err)
	}
	defer both.Unlock(context.Background())

	mixed, err := client.Lock(ctx, "reports/today", holdfast.Options{
		WithItems: []holdfast.Item{{Key: "config", Shared: true}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer mixed.Unlock(context.Background())
}

func ExampleClient_Lock_semaphore() {
	ctx := context.Background()
	slot, err := client.Lock(ctx, "gpu", holdfast.Options{Permits: 1, Limit: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer slot.Unlock(context.Background())
	fmt.Println("cuda:", slot.Slots[0][0])
}

func ExampleLock_Extend() {
	ctx := context.Background()
	lock, err := client.Lock(ctx, "models/large", holdfast.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Unlock(context.Background())
	if err := lock.Extend(ctx, 10*time.Minute); err != nil {
		log.Fatal(err)
	}
	fmt.Println("for more than eight minutes:", lock.Remaining() > 8*time.Minute)
}

func ExampleClient_Campaign() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	lead := func(ctx context.Context, term *holdfast.Lock) error {
		fmt.Println("leading with a token:", term.Token > 0)
		return nil // Or work until ctx is done, and return ctx.Err().
	}
	err := client.Campaign(ctx, "scheduler", holdfast.Options{Name: "host-7"}, lead)
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func ExampleClient_Watch() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	time.AfterFunc(500*time.Millisecond, build)

	watch := client.Watch(ctx, "builds/", "")
	for change := range watch.C {
		fmt.Println(change.Type, change.Key)
		if change.Type == "ended" {
			cancel()
		}
	}
	if err := watch.Err(); !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func build() {
	lock, err := client.Lock(context.Background(), "builds/17", holdfast.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_ = lock.Unlock(context.Background())
}

func write(row int, token int64) {}

// The examples run where there is a cluster: at HOLDFAST_ENDPOINTS.
func TestExamples(t *testing.T) {
	if os.Getenv("HOLDFAST_ENDPOINTS") == "" {
		t.Skip("HOLDFAST_ENDPOINTS names no cluster")
	}
	var err error
	if client, err = holdfast.New(holdfast.Config{}); err != nil {
		t.Fatal(err)
	}
	for _, example := range []func(){Example, ExampleLock_Context, ExampleLock_Done, ExampleClient_Lock_noWait,
		ExampleClient_Lock_severalKeys, ExampleClient_Lock_semaphore, ExampleLock_Extend, ExampleClient_Campaign,
		ExampleClient_Watch} {
		example()
	}
}
