/**
 * Shared by the commands that operate a cluster: a connection for the duration of the command, the
 * exit code for a refusal by the leader, and how many failures a cluster tolerates.
 */
import { HoldfastError } from "../../src/errors/index.js";
import type { Admin } from "../../src/index.js";
import type { ClusterAccess } from "../config/command-options.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, failureOf } from "../exit/failure.js";
import { askCluster } from "./cluster-queries.js";

/** Runs `work` with a connection to the cluster and always closes it. */
export function withAdmin<T>(
  access: ClusterAccess,
  work: (admin: Admin) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const working = async (admin: Admin): Promise<T> => {
    try {
      return await work(admin);
    } catch (error) {
      throw operatingFailure(error);
    }
  };
  return askCluster(access, working, undefined, signal);
}

/**
 * The arguments were checked before the request was sent: what the leader calls invalid is
 * well-formed, but not possible in the current state.
 */
function operatingFailure(error: unknown): unknown {
  if (!(error instanceof HoldfastError) || error.code !== "INVALID_ARGUMENT") return error;
  return new Failure(EXIT.refused, failureOf(error).message, { cause: error });
}
