// Takes and gives back locks with what openapi-typescript generates, by openapi-fetch.
import { argv } from "node:process";
import createClient from "openapi-fetch";

/** @typedef {import("./schema.js").paths} Paths */
/** @type {import("openapi-fetch").Client<Paths>} */
const client = createClient({ baseUrl: argv[2] ?? "" });
const key = "generated/openapi-typescript";
const first = { "Holdfast-Owner": "first" };
const second = { "Holdfast-Owner": "second", "Idempotency-Key": "1" };

const taken = await client.PUT("/v1/lock", {
  params: { query: { key, ttl: "30s" }, header: first },
});
console.log(taken.data && "token" in taken.data && taken.data.token > 0 ? "taken" : taken);
const refused = await client.PUT("/v1/lock", {
  params: { query: { key, ttl: "30s" }, header: second },
});
console.log("refused:", refused.error?.code);
const queued = await client.PUT("/v1/lock", {
  params: { query: { key, ttl: "30s", wait: "10s", poll: "1s" }, header: second },
});
console.log(queued.data && "queued" in queued.data ? "queued" : queued);
const extended = await client.POST("/v1/lock/extend", {
  params: { query: { key, ttl: "60s" }, header: first },
});
console.log("extended:", (extended.data?.trustMs ?? 0) > 30_000);
const seen = await client.GET("/v1/lock", { params: { query: { key }, header: first } });
const { kind, holds = [], mine } = seen.data ?? {};
console.log("seen:", kind, holds.length, mine?.token === holds[0]?.token);
for (const header of [second, first]) {
  const ended = await client.DELETE("/v1/lock", { params: { query: { key }, header } });
  console.log("given back:", ended.data?.released);
}
const several = await client.POST("/v1/locks", {
  params: { header: { "Holdfast-Owner": "third" } },
  body: { items: [{ key }, { key: `${key}/permits`, limit: 3 }], ttl: "30s" },
});
const slots = several.data && "slots" in several.data ? several.data.slots : several;
console.log("several:", JSON.stringify(slots));
const last = await client.DELETE("/v1/lock", {
  params: { query: { key }, header: { "Holdfast-Owner": "third" } },
});
console.log("given back:", last.data?.released);
