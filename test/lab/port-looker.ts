/** Looks for one free port from the one in its argument on, says which, and lives until it is ended. */
import { freePorts } from "../../lab/free-ports.js";

process.on("disconnect", () => process.exit());
const [port] = await freePorts(1, Number(process.argv[2]));
process.send?.(port);
