// Takes and gives back locks with what @hey-api/openapi-ts generates.
import { argv } from "node:process";
import { client } from "./hey-api/client.gen.js";
import {
  extendLease,
  giveBackLease,
  lookAtKey,
  takeLease,
  takeLeaseOfAll,
} from "./hey-api/index.js";

client.setConfig({ baseUrl: argv[2] ?? "" });
const key = "generated/hey-api";
const first = { "Holdfast-Owner": "first" };
const second = { "Holdfast-Owner": "second", "Idempotency-Key": "1" };

const taken = await takeLease({ query: { key, ttl: "30s" }, headers: first });
console.log(taken.data && "token" in taken.data && taken.data.token > 0 ? "taken" : taken);
const refused = await takeLease({ query: { key, ttl: "30s" }, headers: second });
console.log("refused:", refused.error?.code);
const queued = await takeLease({
  query: { key, ttl: "30s", wait: "10s", poll: "1s" },
  headers: second,
});
console.log(queued.data && "queued" in queued.data ? "queued" : queued);
const extended = await extendLease({ query: { key, ttl: "60s" }, headers: first });
console.log("extended:", (extended.data?.trustMs ?? 0) > 30_000);
const seen = await lookAtKey({ query: { key }, headers: first });
const { kind, holds = [], mine } = seen.data ?? {};
console.log("seen:", kind, holds.length, mine?.token === holds[0]?.token);
for (const headers of [second, first]) {
  console.log("given back:", (await giveBackLease({ query: { key }, headers })).data?.released);
}
const headers = { "Holdfast-Owner": "third" };
const several = await takeLeaseOfAll({
  headers,
  body: { items: [{ key }, { key: `${key}/permits`, limit: 3 }], ttl: "30s" },
});
const slots = several.data && "slots" in several.data ? several.data.slots : several;
console.log("several:", JSON.stringify(slots));
console.log("given back:", (await giveBackLease({ query: { key }, headers })).data?.released);
