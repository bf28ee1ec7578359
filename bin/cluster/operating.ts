/**
 * What the commands that operate a cluster have in common: a connection for the time of the command,
 * what a refusal of the leader means for the exit code, and how many losses a cluster bears.
 */
import { HoldfastError } from "../../src/errors.js";
import type { Admin, MembersView } from "../../src/index.js";
import type { ClusterAccess } from "../config/command-options.js";
import { EXIT } from "../output/exit-codes.js";
import { Failure, failureOf } from "../output/failure.js";
import { withPlightTold } from "./cluster-plight.js";

/** Runs `work` with a connection to the cluster and closes it, whatever happens. */
export async function withAdmin<T>(
  access: ClusterAccess,
  work: (admin: Admin) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { connectAdmin } = await import("../../src/index.js");
  const { endpoints, connectTimeoutMs } = access;
  const connected = async (): Promise<T> => {
    const admin = await connectAdmin({
      ...{ endpoints, timeoutMs: connectTimeoutMs },
      ...(signal === undefined ? {} : { signal }),
    });
    try {
      return await work(admin);
    } finally {
      await admin.close();
    }
  };
  try {
    return await withPlightTold(connected(), endpoints);
  } catch (error) {
    throw operatingFailure(error);
  }
}

/**
 * The arguments were checked before anybody was asked: what the leader calls invalid is right in
 * form, and it refuses it as things are.
 */
function operatingFailure(error: unknown): unknown {
  if (!(error instanceof HoldfastError) || error.code !== "INVALID_ARGUMENT") return error;
  return new Failure(EXIT.refused, failureOf(error).message, { cause: error });
}

/** `3 voters: the cluster goes on while 2 of them do`. */
export function majorityText({ members }: MembersView): string {
  const voters = members.filter(({ role }) => role === "voter").length;
  if (voters === 1) return "1 voter: the cluster goes on while it does";
  return `${voters} voters: the cluster goes on while ${Math.floor(voters / 2) + 1} of them do`;
}
