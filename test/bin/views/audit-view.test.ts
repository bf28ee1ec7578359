/** Records of the audit as lines for people, no matter who chose the texts in them. */
import { expect, test } from "vitest";
import { entryLines } from "../../../bin/views/audit-view.js";
import type { AuditEntry } from "../../../src/index.js";

/** An escape sequence, a control of 8 bits, a mark that turns the direction, and a line break. */
const HOSTILE = "a\u001b[2J\u009b31m\u202ez\nb";

test("no text of a record reaches the terminal as it is, from a node or a damaged directory", () => {
  const entry: AuditEntry = {
    ...{ block: 1, at: 0, record: 1, index: 1, wallMs: 0, kind: "order" },
    ...{ identity: HOSTILE, credential: HOSTILE, address: HOSTILE, what: HOSTILE },
    ...{ key: HOSTILE.repeat(30), outcome: HOSTILE, details: { [HOSTILE]: HOSTILE } },
  };
  const held: AuditEntry = {
    ...{ ...entry, kind: "hold" },
    details: { mode: HOSTILE, sessionName: HOSTILE, heldMs: 5, token: HOSTILE },
  };
  const lines = entryLines([entry, held], true);
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
