/**
 * The doors of a node: how clients that do not speak Holdfast's protocol take locks. Each is a
 * translator: it speaks to its own node through ordinary clients of the SDK (`door-clients.ts`), one
 * for each caller, and knows nothing of consensus or of the table.
 */
export {
  type DoorCaller,
  DoorClients,
  type DoorClientsOptions,
} from "./door-clients.js";
export { LeaseDoor } from "./http/door.js";
export {
  checkScript,
  DoorCallers,
  type DoorCounts,
  type DoorNode,
  RedisDoor,
  type RedisDoorOptions,
  type ScriptCheck,
} from "./redis/index.js";
