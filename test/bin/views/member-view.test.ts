import { expect, test } from "vitest";
import {
  joinEndpoints,
  memberLines,
  proofLines,
  startCommand,
} from "../../../bin/views/member-view.js";
import type { MembersView, MemberView } from "../../../src/index.js";
import { majorityText } from "../../../src/views/index.js";

function member(id: number, changes: Partial<MemberView> = {}): MemberView {
  return {
    id,
    role: "voter",
    address: `db-${id}:7511`,
    endpoint: `ws://db-${id}:7411`,
    isReachable: true,
    lagEntries: 0,
    incarnation: id,
    ...changes,
  };
}

function view(members: readonly MemberView[], isJoint = false): MembersView {
  return { leaderId: 2, term: 3, commitIndex: 42, isJoint, members };
}

test("the table has a line for each member, and says who leads", () => {
  const learner = { role: "learner", endpoint: "", isReachable: false, incarnation: 0 } as const;
  const four = member(4, { ...learner, lagEntries: 42 });
  const lines = memberLines(view([member(1), member(2), member(3), four]));
  expect(lines).toEqual([
    "NODE  ROLE     LEADS  REACHABLE  LAG  STARTS  ADDRESS    ENDPOINT",
    "   1  voter           yes          0       1  db-1:7511  ws://db-1:7411",
    "   2  voter    yes    yes          0       2  db-2:7511  ws://db-2:7411",
    "   3  voter           yes          0       3  db-3:7511  ws://db-3:7411",
    "   4  learner         no          42       ?  db-4:7511  -",
    "",
    "3 voters: the cluster works while 2 of them run",
  ]);
});

test("a change that is under way is said", () => {
  const lines = memberLines(view([member(1), member(2)], true));
  expect(lines.at(-1)).toBe("a change is under way: it needs the majorities before and after it");
});

test("what a node says of itself cannot write to the terminal", () => {
  const lines = memberLines(view([member(1, { endpoint: "ws://\u001b[2J" })]));
  expect(lines.join("")).not.toMatch(/\p{Cc}/u);
});

test("the majority counts voters alone", () => {
  const voters = (count: number): string =>
    majorityText(Array.from({ length: count }, (_, i) => member(i + 1)));
  expect(voters(1)).toBe("1 voter: the cluster works while it runs");
  expect(voters(2)).toBe("2 voters: the cluster works while 2 of them run");
  expect(voters(5)).toBe("5 voters: the cluster works while 3 of them run");
  const learner = member(4, { role: "learner" });
  expect(majorityText([member(1), member(2), member(3), learner])).toMatch(/^3 voters/);
});

test("a new node gets its own address and where the others are", () => {
  const known = view([member(1), member(2), member(4, { role: "learner", endpoint: "" })]);
  expect(
    startCommand(4, { host: "db-4", port: 7511 }, joinEndpoints(4, known, ["ws://x:1"]), "none"),
  ).toEqual([
    "holdfast",
    "server",
    "--id=4",
    "--data=n4",
    "--listen=db-4:7411",
    "--peer-listen=db-4:7511",
    "--join=ws://db-1:7411,ws://db-2:7411",
    "--insecure",
  ]);
});

test("a new node on this machine gets a client port of its own and needs no --insecure", () => {
  const unknown = view([member(1, { endpoint: "" })]);
  const asked = joinEndpoints(4, unknown, ["ws://x:1"]);
  const command = startCommand(4, { host: "127.0.0.1", port: 7514 }, asked, "none");
  expect(command.slice(4)).toEqual([
    "--listen=127.0.0.1:7414",
    "--peer-listen=127.0.0.1:7514",
    "--join=ws://x:1",
  ]);
});

test("what it needs to join is in the command, and below it where that comes from", () => {
  const address = { host: "db-4", port: 7511 };
  expect(proofLines(4, address, "none")).toEqual([]);
  expect(startCommand(4, address, ["ws://x:1"], "token")).toContain("--token-file=FILE");
  expect(proofLines(4, address, "token")[0]).toContain("FILE has the access token of any identity");
  expect(startCommand(4, address, ["wss://x:1"], "certificate")).toEqual(
    expect.arrayContaining([
      "--tls-cert=certs/node-4.crt",
      "--tls-key=certs/node-4.key",
      "--tls-ca=certs/ca.crt",
    ]),
  );
  expect(proofLines(4, address, "certificate")[0]).toContain("holdfast cert node 4 --host db-4");
});
