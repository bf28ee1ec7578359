/**
 * The version of the model: the meaning of commands, their bytes, and what the table does with
 * them. Nodes of one cluster must have the same version, because the same entry would otherwise
 * have different effects on them. So it comes first in everything that one process passes to
 * another, or to a later run of itself: in the data directory (`VERSION`), in each entry of
 * commands, in snapshots and in the hello of nodes. Data with another version is refused as a
 * whole, with both versions named, and never read in part.
 *
 * Raise it with any change of these bytes, or of what `apply` does with the same bytes. There is
 * one number for all of them, so that a change need not be assigned to one of several. Clients have
 * a version of their own (`PROTOCOL_VERSION`), because they are not part of the model.
 */
export const MODEL_VERSION = 16;
