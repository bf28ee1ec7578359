/**
 * The door of certificates: makes them, and reads which node or client one names.
 */
export { readHosts } from "./hosts.js";
export { percentEncoded, readCertifiedIdentity } from "./identity.js";
export {
  createAuthority,
  type IssuedCertificate,
  issueClientCertificate,
  issueNodeCertificate,
} from "./issue.js";
