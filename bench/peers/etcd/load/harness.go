// The workers, what they count, and the lines that they exchange with the bench; load-lines.ts says
// which. Everything about etcd is in locks.go.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type load struct {
	addresses   []string
	keys        []string
	connections int
	workers     int
	isShared    bool
}

// A grant of a lock. The token is larger than every earlier one.
type grant struct {
	token   int64
	release func(context.Context) (bool, error)
}

// locks are the clients of the service; the worker decides which of them is used.
type locks interface {
	acquire(ctx context.Context, worker int, key string) (grant, error)
}

// The buckets of histogram.ts: exact up to 128 microseconds, then 128 for each doubling.
const subBucketBits = 7

func bucketOf(micros int64) int64 {
	if micros < 1<<subBucketBits {
		return micros
	}
	shift := int64(bits.Len64(uint64(micros)) - 1 - subBucketBits)
	return shift<<subBucketBits + micros>>shift
}

func largestIn(bucket int64) int64 {
	shift := max(0, bucket>>subBucketBits-1)
	return (bucket-shift<<subBucketBits+1)<<shift - 1
}

const microsMax = 1<<31 - 1

// What one lock has shown: who holds it, and the last token.
type witnessed struct {
	holders   atomic.Int64
	lastToken atomic.Int64
}

type counts struct {
	cycles    atomic.Int64
	maxMicros atomic.Int64
	buckets   []atomic.Int64
	overlap   atomic.Int64
	token     atomic.Int64
	mutex     sync.Mutex
	errors    map[string]int64
}

func newCounts() *counts {
	return &counts{buckets: make([]atomic.Int64, bucketOf(microsMax)+1), errors: map[string]int64{}}
}

func (c *counts) reset() {
	c.cycles.Store(0)
	c.maxMicros.Store(0)
	for i := range c.buckets {
		c.buckets[i].Store(0)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.errors = map[string]int64{}
}

func (c *counts) acquired(duration time.Duration) {
	micros := min(duration.Microseconds(), microsMax)
	c.buckets[bucketOf(micros)].Add(1)
	for last := c.maxMicros.Load(); micros > last; last = c.maxMicros.Load() {
		if c.maxMicros.CompareAndSwap(last, micros) {
			return
		}
	}
}

func (c *counts) failed(text string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.errors[text[:min(len(text), 60)]]++
}

type report struct {
	Event      string           `json:"event"`
	Cycles     int64            `json:"cycles"`
	Acquires   [][2]int64       `json:"acquires"`
	MaxMicros  int64            `json:"maxMicros"`
	Errors     map[string]int64 `json:"errors"`
	Violations map[string]int64 `json:"violations"`
}

func (c *counts) report() report {
	pairs := [][2]int64{}
	for bucket := range c.buckets {
		if count := c.buckets[bucket].Load(); count > 0 {
			pairs = append(pairs, [2]int64{largestIn(int64(bucket)), count})
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	errors := make(map[string]int64, len(c.errors))
	for text, count := range c.errors {
		errors[text] = count
	}
	violations := map[string]int64{"overlap": c.overlap.Load(), "token": c.token.Load()}
	return report{"report", c.cycles.Load(), pairs, c.maxMicros.Load(), errors, violations}
}

// work runs one closed loop until the process ends.
func (c *counts) work(service locks, worker int, key string, seen *witnessed) {
	ctx := context.Background()
	for {
		begin := time.Now()
		granted, err := service.acquire(ctx, worker, key)
		if err != nil {
			c.failed(err.Error())
			time.Sleep(50 * time.Millisecond)
			continue
		}
		c.acquired(time.Since(begin))
		if seen.holders.Add(1) != 1 {
			c.overlap.Add(1)
		}
		if seen.lastToken.Swap(granted.token) >= granted.token {
			c.token.Add(1)
		}
		seen.holders.Add(-1)
		isReleased, err := granted.release(ctx)
		switch {
		case err != nil:
			c.failed(err.Error())
			time.Sleep(50 * time.Millisecond)
		case isReleased:
			c.cycles.Add(1)
		default:
			c.failed("LOCK_LOST")
		}
	}
}

func answer(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", line)
}

func fail(message string) {
	answer(map[string]string{"event": "failed", "message": message})
	os.Exit(1)
}

func begin(load load, counted *counts) {
	service, err := connect(load)
	if err != nil {
		fail(err.Error())
	}
	seen := make(map[string]*witnessed, len(load.keys))
	for _, key := range load.keys {
		seen[key] = &witnessed{}
	}
	for worker := range load.workers {
		key := load.keys[worker%len(load.keys)]
		go counted.work(service, worker, key, seen[key])
	}
}

func main() {
	var load load
	counted := newCounts()
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		word, value, _ := strings.Cut(input.Text(), " ")
		number, _ := strconv.Atoi(value)
		switch word {
		case "address":
			load.addresses = append(load.addresses, value)
		case "key":
			load.keys = append(load.keys, value)
		case "connections":
			load.connections = number
		case "workers":
			load.workers = number
		case "shared":
			load.isShared = value == "yes"
		case "seconds":
			time.AfterFunc(time.Duration(number)*time.Second, func() { os.Exit(1) })
		case "start":
			begin(load, counted)
			answer(map[string]string{"event": "start"})
		case "reset":
			counted.reset()
			answer(map[string]string{"event": "reset"})
		case "report":
			answer(counted.report())
		case "stop":
			return
		default:
			fail("unknown line: " + word)
		}
	}
	// The bench is gone.
}
