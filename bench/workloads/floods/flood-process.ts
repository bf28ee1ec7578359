/**
 * The process of one flood, or one that only burns CPU, for comparison. It ends when its standard input
 * does, and in any case after its time.
 */
import { BURNER, FLOODS, type FloodOrder } from "./flood-list.js";

function main(): void {
  const { flood, target, seconds } = JSON.parse(process.argv[2] ?? "{}") as FloodOrder;
  process.stdin.on("close", () => process.exit()).resume();
  setTimeout(() => process.exit(), seconds * 1_000);
  if (flood === BURNER) burn();
  else FLOODS[flood].begin(target);
}

/** Between two pieces it hears of its end. */
function burn(): void {
  const endMs = performance.now() + 50;
  while (performance.now() < endMs);
  setImmediate(burn);
}

main();
