/** What `npm run jepsen -- --help` prints, in lines of a terminal's usual width. */
import { named } from "../wrapped-text.js";

const NAME_COLUMNS = 21;

interface Named {
  readonly name: string;
  readonly about: string;
}

export function usageText(
  workloads: readonly Named[],
  nemeses: readonly Named[],
  peers: readonly Named[],
): string {
  return `Examples:
  npm run jepsen                 everything, one fault at a time, a minute
  npm run jepsen -- --workload mutex --nemesis kill,partition --minutes 5
  npm run jepsen -- --schedule all --nodes 5 --minutes 30 --seed 7 --out results
  npm run jepsen -- --workload guarded --nemesis pause-clients --unfenced
  npm run jepsen -- --workload ./my-workload.ts --nemesis ./my-nemesis.ts
  npm run jepsen -- --peers redis,etcd --minutes 2
  npm run jepsen -- check --model lock history.jsonl

Usage: npm run jepsen -- [flags]       attack a cluster of its own and judge it
       npm run jepsen -- check --help  judge a history

Starts a cluster of the built binary, lets clients work, breaks things, heals,
and says whether what the clients were told can be true. Exit code 0: valid,
1: not valid, 3: could not be decided, 2: wrong usage, 70: the run itself
failed, 128+n: interrupted. Ctrl-C ends a run within seconds, with a report of
what there was; once more ends it at once.

  -w, --workload NAMES  by commas, or files that export one; all (default: all)
  -n, --nemesis NAMES   by commas, or files that export one; all, none
                        (default: all but disk-full)
      --peers NAMES     the same faults for other systems, one after the other,
                        as a check of the harness itself; the verdict remains
                        Holdfast's own; all (default: none)
      --schedule HOW    each: one fault at a time (default); pairs; all at once;
                        none
      --minutes M       load and faults (default 1); --time SECONDS is the same
      --seed N          decides faults and operations, not their timing
                        (default 1)
      --nodes N         1, 3, 5 or 7 (default 3)
      --clients N       client processes (default 4)
      --tasks N         of each client, for each workload (default 2)
      --keys N          of each workload (default 3)
      --ttl MS          lease of the clients (default 2000)
      --unfenced        the guarded store compares no tokens: updates are to be
                        lost
      --netns           network namespaces with real addresses instead of
                        proxies (root)
      --port P          the nodes' ports from P on (default: any free ones)
      --out DIR         where results go, --keep DIR is the same (default: a
                        temporary directory)
      --json            results as one JSON object on standard output
  -q, --quiet           no progress
  -h, --help            this

Workloads:
${listOf(workloads)}

Nemeses:
${listOf(nemeses)}

Peers:
${listOf(peers)}
`;
}

function listOf(all: readonly Named[]): string {
  return all.map(({ name, about }) => named(`  ${name}`, about, NAME_COLUMNS)).join("\n");
}
