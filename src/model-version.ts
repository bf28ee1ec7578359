/**
 * The version of the model: what commands mean, which bytes they are, and what the table makes of
 * them. Nodes of one cluster must have the same one, or the same entry does something else on one of
 * them. So it stands first in whatever passes from a process to another one, or to a later one of
 * itself: in the data directory (`VERSION`), in each entry of commands, in snapshots and in the
 * hello of nodes. Whatever has another one is refused as a whole, with both versions named, and
 * never read in part.
 *
 * Raise it with any change of these bytes, or of what `apply` makes of the same ones. There is one
 * number, so that nobody has to know which of them a change belongs to. Clients have a version of
 * their own (`PROTOCOL_VERSION`): they are not part of the model.
 */
export const MODEL_VERSION = 6;
