/** Why something cannot be shown or done, in a sentence, where it would have stood. */
import { HoldfastError } from "../../src/index.js";
import { printable } from "../../src/text/index.js";

/** What an error means to the viewer. Never a stack. */
function problemText(error: unknown): string {
  if (!(error instanceof HoldfastError)) {
    return printable(error instanceof Error ? error.message : String(error));
  }
  switch (error.code) {
    case "PROTOCOL":
      return `This node answers in a way that this dashboard does not know: it may run another version. (${printable(error.message)})`;
    case "FORBIDDEN":
      return `You may not see or do this: ${printable(error.message)}.`;
    default:
      return `${printable(error.message)} (${error.code})`;
  }
}

export function Problem({ error }: { readonly error: unknown }) {
  return (
    <p class="problem" role="alert">
      {problemText(error)}
    </p>
  );
}
