/**
 * Text for people: other people's text, made safe to show. Pure, and for browsers too.
 */
export {
  escapeUnseen,
  keyText,
  printable,
  quoted,
  quotedKey,
  sentenceIn,
} from "./safe-text.js";
