import { expect, test } from "vitest";
import { barChart } from "../../../bench/comparison/bar-chart.js";

const bar = (name: string, value: number) => ({ name, value, text: `${value}`, isOwn: false });

function widthsIn(svg: string): number[] {
  return [...svg.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map((match) => Number(match[1]));
}

test("bars are as long as the logarithms of their values", () => {
  const bars = [bar("a", 100), bar("b", 1_000), bar("c", 10_000)];
  const [a = 0, b = 0, c = 0] = widthsIn(barChart("t", "n", [{ title: "g", bars }]));
  expect(a).toBe(1);
  expect(b * 2).toBeCloseTo(c, 0);
});

test("a bar of nothing is there, and names cannot break the picture", () => {
  const svg = barChart("<&>", '"', [{ title: "a < b", bars: [bar("none", 0), bar("some", 5)] }]);
  expect(widthsIn(svg)[0]).toBe(1);
  expect(svg).toContain("a &lt; b");
  expect(svg).toContain('aria-label="&lt;&amp;&gt;"');
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
});

test("a picture of equal bars and of none at all is one, too", () => {
  for (const groups of [[], [{ title: "g", bars: [bar("a", 10), bar("b", 10)] }]]) {
    expect(barChart("t", "n", groups)).not.toMatch(/NaN|Infinity/);
  }
});
