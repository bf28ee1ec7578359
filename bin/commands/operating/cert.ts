/**
 * `holdfast cert ca|node|client|show`: makes a private CA and certificates that it issues, without
 * OpenSSL, and shows them. It contacts no cluster. A key is readable by its owner only and is never
 * shown.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import {
  createAuthority,
  endMsOf,
  hasIssued,
  type IssuedCertificate,
  isInTime,
  issueClientCertificate,
  issueNodeCertificate,
  percentEncoded,
  readCertificates,
  readHosts,
} from "../../../src/certificates/index.js";
import { HoldfastError } from "../../../src/errors/index.js";
import { printable } from "../../../src/text/index.js";
import { commandGroup, type Examples } from "../../cluster/cluster-command.js";
import { examplesText, explained, jsonOption } from "../../config/command-options.js";
import { Configuration } from "../../config/configuration.js";
import { addOptions } from "../../config/flags.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../../exit/failure.js";
import {
  AUTHORITY_DAYS,
  CERTIFICATE_OPTIONS,
  ISSUED_DAYS,
  LOCAL_HOSTS,
} from "../../options/certificate-options.js";
import { fileFailure } from "../../output/new-file.js";
import { pemPathsOf, readIfThere, savePemPair } from "../../output/pem-pair.js";
import { print, printJson } from "../../output/terminal.js";
import { parseNodeId } from "../../text/addresses.js";
import {
  type CertificateView,
  certificateDocument,
  certificateLines,
  forText,
  identityDocument,
  isWrong,
  untilText,
} from "../../views/certificate-view.js";

type Finish = (exitCode: number) => void;

const EXAMPLES: Examples = [
  ["holdfast cert ca", "once: certs/ca.crt and certs/ca.key"],
  ["holdfast cert node 1 --host db-1.example", "for each node"],
  ["holdfast cert client billing", "for each program"],
  ["holdfast cert show certs/node-1.crt", "whose it is, and until when"],
];
/** Leaves room for " CA" in a common name. */
const SHOWN_CLUSTER_LENGTH_MAX = 61;

const CA_NOTES = `
Keep ca.key away from the machines of the cluster: anyone who has it can pass
for any node and any client. Nodes and clients need ca.crt only. --force makes
another CA, which does not verify the certificates of the old one. Exit code 1
if a file exists or cannot be written. The JSON document:
  {"kind":"ca","hosts":[],"certificate":"certs/ca.crt","key":"certs/ca.key",
   "notAfter":"2036-11-20T08:00:00.000Z"}`;

const NODE_NOTES = `
The certificate contains the number of the node and the name of the cluster;
other nodes check both, so --cluster-name must be the name that the nodes use.
Clients check that it contains the host of their endpoint, so give every name
and address that they use. * as the first label stands for any one label. The
certificate expires no later than its CA. Exit code 1 if the CA cannot be read,
its key does not fit, or a file exists. The JSON document:
  {"kind":"node","cluster":"holdfast","nodeId":1,"hosts":["db-1.example"],
   "certificate":"certs/node-1.crt","key":"certs/node-1.key",
   "notAfter":"2027-12-25T08:00:00.000Z"}`;

const CLIENT_NOTES = `
The files are client-NAME.crt and client-NAME.key, with %XX for characters that
a file name should not have. The certificate expires no later than its CA. Exit
code 1 if the CA cannot be read, its key does not fit, or a file exists. The
JSON document:
  {"kind":"client","cluster":"holdfast","name":"billing","hosts":[],
   "certificate":"certs/client-billing.crt","key":"certs/client-billing.key",
   "notAfter":"2027-12-25T08:00:00.000Z"}`;

const SHOW_NOTES = `
Without --key and --ca it looks for a key of the same name and for ca.crt in the
directory of the file. It shows every certificate of the file, and checks the
key against the first. Exit code 1 if a certificate is not valid now, the key
does not fit, or the CA did not issue it. One JSON object a line:
  {"kind":"node","cluster":"holdfast","nodeId":1,"hosts":["db-1.example"],
   "subject":"CN=node 1","issuer":"CN=holdfast CA","serial":"5f…",
   "notBefore":"…","notAfter":"…","isValidNow":true,"keyFits":true,
   "isVerified":true}
kind: ca, node, client or other. keyFits, isVerified: null without a key or CA.`;

const { clusterName, host, days, out, caFrom } = CERTIFICATE_OPTIONS;

export function defineCert(command: Command, finish: Finish): void {
  commandGroup(command, EXAMPLES);
  defineCa(command);
  defineNode(command);
  defineClient(command);
  defineShow(command, finish);
}

function defineCa(parent: Command): void {
  const command = parent.command("ca").description("make a CA for a cluster");
  command.addHelpText(
    "before",
    examplesText([
      ["holdfast cert ca", "certs/ca.crt and certs/ca.key"],
      ["holdfast cert ca --cluster-name prod --out /secure", "elsewhere"],
    ]),
  );
  const ownDays = { ...days, defaultText: String(AUTHORITY_DAYS) };
  addOptions(command, { clusterName, days: ownDays, out });
  addWritingOptions(command)
    .addHelpText("after", CA_NOTES)
    .action(async () => {
      const options = Configuration.of(command).settle({ clusterName, days, out });
      const cluster = [...options.clusterName];
      const name = `${cluster.slice(0, SHOWN_CLUSTER_LENGTH_MAX).join("")} CA`;
      const validDays = options.days ?? AUTHORITY_DAYS;
      const issued = explaining(() => createAuthority({ name, days: validDays }));
      await save(command, options.out, "ca", issued);
    });
}

function defineNode(parent: Command): void {
  const command = parent.command("node").description("issue a certificate for a node");
  command
    .addHelpText(
      "before",
      examplesText([
        ["holdfast cert node 1", "for a cluster on this machine"],
        ["holdfast cert node 1 --host db-1.example --host 10.0.0.1", "for other machines"],
      ]),
    )
    .argument("<id>", "number of the node", explained(parseNodeId));
  addOptions(command, { clusterName, host, days: issuedDays(), out, caFrom });
  addWritingOptions(command)
    .addHelpText("after", NODE_NOTES)
    .action(async (nodeId: number) => {
      const options = settledFor(command);
      const authority = await readAuthority(options.caDirectory);
      const hosts = Configuration.of(command).settle({ host }).host ?? LOCAL_HOSTS;
      const { cluster, validDays } = options;
      const issued = explaining(() =>
        issueNodeCertificate(authority, { cluster, nodeId, hosts, days: validDays }),
      );
      await save(command, options.out, `node-${nodeId}`, issued);
    });
}

function defineClient(parent: Command): void {
  const command = parent.command("client").description("issue a certificate for a client");
  command
    .addHelpText(
      "before",
      examplesText([
        ["holdfast cert client billing", "for a program called billing"],
        ["holdfast cert client ops --days 7", "valid for a week"],
      ]),
    )
    .argument("<name>", "name of the client, up to 64 characters");
  addOptions(command, { clusterName, days: issuedDays(), out, caFrom });
  addWritingOptions(command)
    .addHelpText("after", CLIENT_NOTES)
    .action(async (name: string) => {
      const options = settledFor(command);
      const authority = await readAuthority(options.caDirectory);
      const { cluster, validDays } = options;
      const issued = explaining(() =>
        issueClientCertificate(authority, { cluster, name, days: validDays }),
      );
      await save(command, options.out, `client-${percentEncoded(name)}`, issued);
    });
}

function defineShow(parent: Command, finish: Finish): void {
  const command = parent.command("show").description("show whose a certificate is, and until when");
  command
    .addHelpText(
      "before",
      examplesText([
        ["holdfast cert show certs/node-1.crt", "and whether key and CA fit"],
        ["holdfast cert show node.pem --ca ca.crt --json", "one JSON object a line"],
      ]),
    )
    .argument("<file>", "one or more certificates, PEM")
    .option("--ca <file>", "the CA that should have issued it")
    .option("--key <file>", "its key")
    .addOption(jsonOption("print one JSON object a line"))
    .addHelpText("after", SHOW_NOTES)
    .action(async (file: string) => finish(await show(file, command.opts<ShowFlags>())));
}

function issuedDays(): typeof days {
  return { ...days, defaultText: String(ISSUED_DAYS) };
}

function addWritingOptions(command: Command): Command {
  return command
    .option("--force", "replace the files if they are there")
    .addOption(jsonOption("print one JSON document"));
}

interface Issuing {
  readonly cluster: string;
  readonly validDays: number;
  readonly out: string;
  readonly caDirectory: string;
}

function settledFor(command: Command): Issuing {
  const settled = Configuration.of(command).settle({ clusterName, days, out, caFrom });
  return {
    cluster: settled.clusterName,
    validDays: settled.days ?? ISSUED_DAYS,
    out: settled.out,
    caDirectory: settled.caFrom ?? settled.out,
  };
}

/** A wrong name or host is wrong usage; a CA that cannot issue certificates is a failure. */
function explaining<T>(issue: () => T): T {
  try {
    return issue();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "INVALID_ARGUMENT") throw error;
    const exitCode = error.details["argument"] === "authority" ? EXIT.failed : EXIT.usage;
    throw new Failure(exitCode, error.message, { cause: error });
  }
}

async function readAuthority(directory: string): Promise<IssuedCertificate> {
  const read = async (name: string): Promise<string> => {
    try {
      return await readFile(join(directory, name), "utf8");
    } catch (error) {
      const failure = fileFailure("read", join(directory, name), error);
      if (systemCodeOf(error) !== "ENOENT") throw failure;
      const advice = "make a CA with holdfast cert ca, or name its directory with --ca-from";
      throw new Failure(EXIT.failed, `${failure.message}: ${advice}`, { cause: error });
    }
  };
  return { certificatePem: await read("ca.crt"), keyPem: await read("ca.key") };
}

async function save(
  command: Command,
  directory: string,
  name: string,
  issued: IssuedCertificate,
): Promise<void> {
  const { force = false, json = false } = command.opts<{ force?: boolean; json?: boolean }>();
  const files = pemPathsOf(join(directory, name));
  await savePemPair(files, issued, force);
  const certificate = new X509Certificate(issued.certificatePem);
  if (json) {
    const notAfter = new Date(endMsOf(certificate)).toISOString();
    const hosts = readHosts(certificate);
    printJson({ ...identityDocument(certificate), hosts, ...files, notAfter });
  } else {
    const whose = printable(`${forText(certificate)}, ${untilText(certificate)}`);
    print(`${files.certificate}: ${whose}`);
    print(`${files.key}: its key, which only you can read`);
  }
}

interface ShowFlags {
  readonly ca?: string;
  readonly key?: string;
  readonly json?: boolean;
}

async function show(file: string, flags: ShowFlags): Promise<number> {
  const nowMs = Date.now();
  const certificates = certificatesIn(file, await read(file));
  const key = await keyBeside(file, flags.key);
  const authorities = await authoritiesBeside(file, flags.ca);
  const views = certificates.map(
    (certificate, index): CertificateView => ({
      certificate,
      key:
        key === undefined || index > 0
          ? undefined
          : { file: key.file, fits: certificate.checkPrivateKey(key.key) },
      authority: authorities && {
        file: authorities.file,
        verifies: authorities.all.some((ca) => hasIssued(ca, certificate) && isInTime(ca, nowMs)),
      },
    }),
  );
  for (const [index, view] of views.entries()) {
    if (flags.json === true) {
      printJson(certificateDocument(view, nowMs));
      continue;
    }
    if (index > 0) print("");
    for (const line of certificateLines(view, nowMs)) print(line);
  }
  return views.some((view) => isWrong(view, nowMs)) ? EXIT.failed : EXIT.done;
}

interface KeyFile {
  readonly file: string;
  readonly key: KeyObject;
}

async function keyBeside(file: string, named: string | undefined): Promise<KeyFile | undefined> {
  const path = named ?? `${file.replace(/\.(?:crt|pem|cer)$/, "")}.key`;
  const pem = named === undefined ? await readIfThere(path) : await read(path);
  if (pem === undefined) return undefined;
  try {
    return { file: path, key: createPrivateKey(pem) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Failure(EXIT.failed, `${path} has no private key that can be read: ${why}`, {
      cause: error,
    });
  }
}

async function authoritiesBeside(
  file: string,
  named: string | undefined,
): Promise<{ readonly file: string; readonly all: readonly X509Certificate[] } | undefined> {
  const path = named ?? join(dirname(file), "ca.crt");
  const pem = named === undefined ? await readIfThere(path) : await read(path);
  return pem === undefined ? undefined : { file: path, all: certificatesIn(path, pem) };
}

function certificatesIn(file: string, pem: string): X509Certificate[] {
  let found: X509Certificate[];
  try {
    found = readCertificates(pem);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Failure(EXIT.failed, `${file}: a certificate in it is damaged: ${why}`, {
      cause: error,
    });
  }
  if (found.length > 0) return found;
  throw new Failure(EXIT.failed, `${file} has no certificate in it (PEM)`);
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw fileFailure("read", path, error);
  }
}
