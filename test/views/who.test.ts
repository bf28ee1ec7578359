/** How those are written who hold a lock or wait for one. */
import { describe, expect, it } from "vitest";
import { phraseText, whoPhrase } from "../../src/views/index.js";

describe("names of clients in a sentence", () => {
  it("are shown so that they cannot be taken for our words", () => {
    const text = (sessionName: string, identity = "anonymous"): string =>
      phraseText(whoPhrase({ sessionName, identity, session: 17 }));
    expect(text("")).toBe("session 17");
    expect(text("w")).toBe("w");
    expect(text("w as admin")).toBe("w as admin as anonymous");
    expect(text("\u202eevil\u0007")).toBe("\\u{202e}evil\\u{7}");
  });
});

describe("a lease", () => {
  it("is called by its name, or by digits of its owner, and the client that handed it over is named", () => {
    const who = (sessionName: string, identity: string, leaseOwner?: string): string => {
      return phraseText(whoPhrase({ sessionName, identity, session: 0, leaseOwner }));
    };
    expect(who("deploy", "anonymous", "5ed4c48d")).toBe("deploy");
    expect(who("", "ci", "5ed4c48d")).toBe("lease:5ed4c48d as ci");
    expect(who("", "anonymous")).toBe("a lease");
    const handedOver = (sessionName: string, identity: string): string => {
      const [session, holder, leaseOwner] = [0, "bearer", "5ed4c48d"] as const;
      return phraseText(whoPhrase({ sessionName, identity, session, holder, leaseOwner }));
    };
    expect(handedOver("worker-3", "anonymous")).toBe("handed over by worker-3");
    expect(handedOver("worker-3", "ci")).toBe("handed over by worker-3 as ci");
    expect(handedOver("", "ci")).toBe("handed over");
  });
});
