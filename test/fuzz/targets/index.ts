/** All targets, in the order in which they are run: formats first, then doors, then whole nodes. */
import type { FuzzTarget } from "../engine/target.js";
import { clientFrames } from "./client-frames.js";
import { clientMessages } from "./client-messages.js";
import { clientPort } from "./client-port.js";
import { configFiles } from "./config-files.js";
import { configurations } from "./configurations.js";
import { entries } from "./entries.js";
import { fenceHeaders } from "./fence-headers.js";
import { handedOver } from "./handed-over.js";
import { httpDoor } from "./http-door.js";
import { logFiles } from "./log-files.js";
import { nodeMessages } from "./node-messages.js";
import { nodeRequests } from "./node-requests.js";
import { peerFrames } from "./peer-frames.js";
import { peerHellos } from "./peer-hellos.js";
import { peerLies } from "./peer-lies.js";
import { peerPort } from "./peer-port.js";
import { serverFrames } from "./server-frames.js";
import { snapshotFiles } from "./snapshot-files.js";
import { storeRows } from "./store-rows.js";
import { tableSnapshots } from "./table-snapshots.js";

export const FUZZ_TARGETS: readonly FuzzTarget[] = [
  clientFrames,
  entries,
  serverFrames,
  peerFrames,
  peerHellos,
  configurations,
  logFiles,
  storeRows,
  tableSnapshots,
  snapshotFiles,
  configFiles,
  handedOver,
  fenceHeaders,
  clientPort,
  httpDoor,
  peerPort,
  clientMessages,
  nodeMessages,
  peerLies,
  nodeRequests,
];
