/** A sentence with other people's text in it, which is isolated and escaped here. */
import type { Shown } from "../../src/views/index.js";
import { KeyText, OtherText } from "./key-text.js";

export function PhraseText({ phrase }: { readonly phrase: Shown }) {
  if (typeof phrase === "string") return <>{phrase}</>;
  return (
    <>
      {phrase.map((part, index) => {
        if (typeof part === "string") return part;
        return "key" in part ? (
          <KeyText key={index} name={part.key} />
        ) : (
          <OtherText key={index} text={part.other} />
        );
      })}
    </>
  );
}
