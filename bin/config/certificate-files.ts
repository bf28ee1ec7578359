/**
 * The files with which a command verifies nodes and proves who it is. Files that cannot be right are
 * refused here, in terms of flags, before the command looks for a node.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { TlsOptions } from "../../src/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../exit/failure.js";
import { fileFailure } from "../output/new-file.js";
import { flagOf, variableOf } from "../text/option-spelling.js";

/** Paths, by the names of their options. */
export interface CertificateFiles {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly certKey: string | undefined;
}

/** The contents of the files. Fails with exit code 2 if these endpoints cannot use them. */
export function readCertificates(
  files: CertificateFiles,
  endpoints: readonly string[],
): TlsOptions {
  const { ca, cert, certKey } = files;
  const [first] = namesGiven(files);
  if (first === undefined) return {};
  if ((cert === undefined) !== (certKey === undefined)) {
    throw new Failure(EXIT.usage, "--cert and --cert-key need each other");
  }
  if (!endpoints.some((endpoint) => endpoint.startsWith("wss:"))) {
    const shown = endpoints.join(", ");
    const what = `${flagOf(first)} needs an endpoint that begins with wss://`;
    throw new Failure(EXIT.usage, `${what}: see --endpoints, which is ${shown}`);
  }
  return {
    ...(ca === undefined ? {} : { ca: contentOf(ca) }),
    ...(cert === undefined ? {} : { cert: contentOf(cert) }),
    ...(certKey === undefined ? {} : { key: contentOf(certKey) }),
  };
}

/** Absolute paths for the environment of a command that may call `holdfast` in turn. */
export function certificateVariables(files: CertificateFiles): Record<string, string> {
  return Object.fromEntries(
    namesGiven(files).map((name) => [variableOf(name), resolve(files[name] ?? "")]),
  );
}

function namesGiven(files: CertificateFiles): (keyof CertificateFiles)[] {
  const names = ["ca", "cert", "certKey"] as const;
  return names.filter((name) => files[name] !== undefined);
}

function contentOf(path: string): Uint8Array {
  let content: Uint8Array;
  try {
    content = readFileSync(path);
  } catch (error) {
    if (systemCodeOf(error) === "") throw error;
    throw new Failure(EXIT.usage, fileFailure("read", path, error).message, { cause: error });
  }
  if (content.length > 0) return content;
  throw new Failure(EXIT.usage, `${path} is empty: a PEM file is required`);
}
