// Takes and gives back locks with what oapi-codegen generates.
package main

import (
	"context"
	"fmt"
	"os"

	"holdfast/generated/generated"
)

func must[Answer any](answer Answer, err error) Answer {
	if err != nil {
		panic(err)
	}
	return answer
}

func pointer[Value any](value Value) *Value { return &value }

func main() {
	ctx := context.Background()
	client := must(generated.NewClientWithResponses(os.Args[1]))
	key := "generated/go"
	take := generated.TakeLeaseParams{Key: key, Ttl: "30s", HoldfastOwner: "first"}

	taken := must(client.TakeLeaseWithResponse(ctx, &take)).JSON200
	if taken != nil && taken.Token > 0 {
		fmt.Println("taken")
	}
	take.HoldfastOwner, take.IdempotencyKey = "second", pointer("1")
	fmt.Println("refused:", must(client.TakeLeaseWithResponse(ctx, &take)).ApplicationproblemJSON409.Code)
	take.Wait, take.Poll = pointer("10s"), pointer("1s")
	if queued := must(client.TakeLeaseWithResponse(ctx, &take)); queued.JSON200 == nil && queued.JSON202 != nil {
		fmt.Println("queued")
	}
	extend := generated.ExtendLeaseParams{Key: key, Ttl: "60s", HoldfastOwner: "first"}
	extended := must(client.ExtendLeaseWithResponse(ctx, &extend)).JSON200
	fmt.Println("extended:", *extended.TrustMs > 30_000)
	look := generated.LookAtKeyParams{Key: key, HoldfastOwner: pointer("first")}
	seen := must(client.LookAtKeyWithResponse(ctx, &look)).JSON200
	fmt.Println("seen:", *seen.Kind, len(seen.Holds), seen.Mine.Token == seen.Holds[0].Token)
	giveBack := func(owner string) {
		end := generated.GiveBackLeaseParams{Key: key, HoldfastOwner: owner}
		fmt.Println("given back:", must(client.GiveBackLeaseWithResponse(ctx, &end)).JSON200.Released)
	}
	giveBack("second")
	giveBack("first")
	items := []generated.WantedItem{{Key: key}, {Key: key + "/permits", Limit: pointer(3)}}
	owner := generated.TakeLeaseOfAllParams{HoldfastOwner: "third"}
	several := must(client.TakeLeaseOfAllWithResponse(ctx, &owner, generated.TakeAll{Items: items, Ttl: "30s"}))
	fmt.Println("several:", *several.JSON200.Slots)
	giveBack("third")
}
