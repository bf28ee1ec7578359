/** All targets, in the order in which they are run: formats first, then doors, then whole nodes. */
import type { FuzzTarget } from "../engine/target.js";
import { clientFrames } from "./formats/client-frames.js";
import { configFiles } from "./formats/config-files.js";
import { configurations } from "./formats/configurations.js";
import { entries } from "./formats/entries.js";
import { fenceHeaders } from "./formats/fence-headers.js";
import { handedOver } from "./formats/handed-over.js";
import { logFiles } from "./formats/log-files.js";
import { peerFrames } from "./formats/peer-frames.js";
import { peerHellos } from "./formats/peer-hellos.js";
import { serverFrames } from "./formats/server-frames.js";
import { snapshotFiles } from "./formats/snapshot-files.js";
import { storeRows } from "./formats/store-rows.js";
import { tableSnapshots } from "./formats/table-snapshots.js";
import { clientMessages } from "./nodes/client-messages.js";
import { nodeMessages } from "./nodes/node-messages.js";
import { nodeRequests } from "./nodes/node-requests.js";
import { peerLies } from "./nodes/peer-lies.js";
import { clientPort } from "./ports/client-port.js";
import { httpDoor } from "./ports/http-door.js";
import { peerPort } from "./ports/peer-port.js";

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
