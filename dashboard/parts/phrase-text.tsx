/** A sentence with other people's text in it, which is isolated and escaped here. */
import { KeyText, OtherText } from "./key-text.js";
import type { Phrase } from "./phrase.js";

export function PhraseText({ phrase }: { readonly phrase: Phrase }) {
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
