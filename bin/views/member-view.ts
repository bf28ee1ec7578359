/**
 * The members of a cluster for people, and the options that start a new one. Endpoints and
 * addresses come from others, so they are never written to the terminal unescaped.
 */
import type { MembersView } from "../../src/index.js";
import type { HostPort } from "../../src/server/index.js";
import { printable } from "../../src/text/index.js";
import { MEMBER_COLUMNS, majorityText } from "../../src/views/index.js";
import { styled } from "../output/terminal.js";
import { formatHostPort } from "../text/addresses.js";
import { viewLines } from "./view-table.js";

const CLIENT_PORT = 7_411;
/** The client ports of a local cluster are this much below its peer ports. */
const LOCAL_PORT_DISTANCE = 100;

export function memberLines({ members, leaderId, isJoint }: MembersView): string[] {
  const rows = members.map((member) => ({ ...member, leads: member.id === leaderId }));
  const lines = [...viewLines(Object.values(MEMBER_COLUMNS), rows), "", majorityText(members)];
  if (isJoint) {
    const text = "a change is under way: it needs the majorities before and after it";
    lines.push(styled("yellow", text, process.stdout));
  }
  return lines;
}

/** What a node shows the others before they let it join. */
export type JoinProof = "none" | "token" | "certificate";

/** The endpoints that node `id` asks: of the other members, or those that the command asked. */
export function joinEndpoints(
  id: number,
  { members }: MembersView,
  asked: readonly string[],
): readonly string[] {
  const known = members.flatMap((member) =>
    member.id === id || member.endpoint === "" ? [] : [member.endpoint],
  );
  return known.length === 0 ? asked : known;
}

/** The command that starts node `id` on its machine, where the others reach it at `address`. */
export function startCommand(
  id: number,
  address: HostPort,
  endpoints: readonly string[],
  proof: JoinProof,
): string[] {
  const join = `--join=${endpoints.map(printable).join(",")}`;
  const files = `certs/node-${id}`;
  const proofs: Readonly<Record<JoinProof, readonly string[]>> = {
    none: [],
    token: ["--token-file=FILE"],
    certificate: [`--tls-cert=${files}.crt`, `--tls-key=${files}.key`, "--tls-ca=certs/ca.crt"],
  };
  return serverCommand(id, `n${id}`, address, [join, ...proofs[proof]]);
}

/** How to get what the command names; nothing for a node that needs no proof. */
export function proofLines(id: number, { host }: HostPort, proof: JoinProof): string[] {
  if (proof === "token") {
    return [
      "The cluster is secured: FILE has the access token of any identity that has a permission.",
      "Without TLS the node sends it to its own machine only, so --join names a node there,",
      "or a tunnel to one.",
    ];
  }
  if (proof === "none") return [];
  return [
    `Its certificate is made by: holdfast cert node ${id} --host ${host}`,
    "If the other nodes have a --cluster-name, both commands need it.",
  ];
}

/** The command that starts a node whose cluster is in its directory or in `more`. */
export function serverCommand(
  id: number,
  data: string,
  address: HostPort,
  more: readonly string[] = [],
): string[] {
  const isLocal = /^(localhost|127\..*|::1)$/.test(address.host);
  const port = isLocal ? Math.max(address.port - LOCAL_PORT_DISTANCE, 1) : CLIENT_PORT;
  return [
    "holdfast",
    "server",
    `--id=${id}`,
    `--data=${data}`,
    `--listen=${formatHostPort({ host: address.host, port })}`,
    `--peer-listen=${formatHostPort(address)}`,
    ...more,
    ...(isLocal ? [] : ["--insecure"]),
  ];
}
