/** The options with which a command proves who it is by an access token. */
import { option } from "./option-definition.js";
import { textKind } from "./option-kinds.js";

const FILE_KIND = textKind("file");

export const TOKEN_OPTIONS = {
  accessToken: option(
    textKind("token"),
    "access token of the identity that the command speaks for",
    { reach: "secret" },
  ),
  tokenFile: option(
    FILE_KIND,
    "a file with the access token of the identity that the command speaks for",
  ),
};

/** The options by which a node shows a token when it joins. */
export const JOIN_TOKEN_OPTIONS = {
  accessToken: option(textKind("token"), "with --join: access token for a secured cluster", {
    reach: "secret",
  }),
  tokenFile: option(
    FILE_KIND,
    "with --join: a file with an access token for a secured cluster, if this node has no TLS",
  ),
};
