/**
 * Other people's text, shown so that nobody is deceived: keys, names, addresses. Different texts
 * look different, none can turn the direction of what stands next to it, and none is markup.
 */
import { keyText, printable } from "../../src/text/index.js";

/** A key. */
export function KeyText({ name }: { readonly name: string }) {
  const shown = keyText(name);
  return (
    <bdi class="key" title={shown}>
      {shown}
    </bdi>
  );
}

/** Any other text of a client, such as the name of a session. */
export function OtherText({ text }: { readonly text: string }) {
  const shown = printable(text);
  return (
    <bdi class="other" title={shown}>
      {shown}
    </bdi>
  );
}
