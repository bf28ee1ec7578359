/** The text of the report: nothing in it is markup or leads elsewhere. */
import { expect, test } from "vitest";
import { renderReport } from "../../../jepsen-lite/report/render-report.js";
import { sampleReport } from "./report-sample.js";

test("nothing that a run brings along becomes markup", () => {
  const page = renderReport(sampleReport());
  expect(page).not.toContain("<script>alert");
  expect(page).toContain("&lt;script&gt;alert");
  expect(page).toContain("mutex &amp; &lt;others&gt;");
  expect(page.match(/<script>/g)).toHaveLength(1);
});

test("the page names no address but its own", () => {
  const page = renderReport(sampleReport());
  expect(page).not.toMatch(/src\s*=|url\(|@import|https?:/);
  // Links lead from the time line to the stories and back.
  for (const [, address = ""] of page.matchAll(/href\s*=\s*"([^"]*)/g)) {
    expect(address).toMatch(/^#(?:anomaly|mark)-\d+$/);
    expect(page).toContain(`id="${address.slice(1)}"`);
  }
});
