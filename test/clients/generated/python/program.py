"""Takes and gives back locks with what openapi-python-client generates."""

import sys

from generated import Client
from generated.api.leases import extend_lease, give_back_lease, take_lease, take_lease_of_all
from generated.api.views import look_at_key
from generated.models import Lease, LookedAtKey, Problem, Queued, Released, TakeAll, WantedItem

client = Client(base_url=sys.argv[1])
key = "generated/python"

taken = take_lease.sync(client=client, key=key, ttl="30s", holdfast_owner="first")
print("taken" if isinstance(taken, Lease) and taken.token > 0 else taken)
refused = take_lease.sync(client=client, key=key, ttl="30s", holdfast_owner="second")
print("refused:", refused.code if isinstance(refused, Problem) else refused)
queued = take_lease.sync(
    client=client, key=key, ttl="30s", wait="10s", poll="1s", holdfast_owner="second", idempotency_key="1"
)
print("queued" if isinstance(queued, Queued) else queued)
extended = extend_lease.sync(client=client, key=key, ttl="60s", holdfast_owner="first")
print("extended:", str(isinstance(extended, Lease) and extended.trust_ms > 30_000).lower())
seen = look_at_key.sync(client=client, key=key, holdfast_owner="first")
assert isinstance(seen, LookedAtKey)
print("seen:", seen.kind, len(seen.holds), str(seen.mine.token == seen.holds[0].token).lower())
for owner in ("second", "first"):
    ended = give_back_lease.sync(client=client, key=key, holdfast_owner=owner)
    print("given back:", str(isinstance(ended, Released) and ended.released).lower())
items = [WantedItem(key=key), WantedItem(key=f"{key}/permits", limit=3)]
several = take_lease_of_all.sync(client=client, body=TakeAll(items=items, ttl="30s"), holdfast_owner="third")
print("several:", several.slots if isinstance(several, Lease) else several)
ended = give_back_lease.sync(client=client, key=key, holdfast_owner="third")
print("given back:", str(isinstance(ended, Released) and ended.released).lower())
