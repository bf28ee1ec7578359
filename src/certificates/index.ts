/**
 * The entry point of certificates: makes them, reads which node or client one names, and checks their time
 * and issuer.
 */
export { readHosts } from "./hosts.js";
export { percentEncoded, readCertifiedIdentity } from "./identity.js";
export {
  createAuthority,
  type IssuedCertificate,
  issueClientCertificate,
  issueNodeCertificate,
} from "./issue.js";
export { beginMsOf, endMsOf, hasIssued, isInTime, readCertificates } from "./validity.js";
