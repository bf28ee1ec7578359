import fc from "fast-check";
import { expect, test } from "vitest";
import { Fifo } from "../../../src/lockfsm/structures/fifo.js";

test("a queue behaves like an array, however it is filled and emptied", () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ push: fc.integer({ min: 0, max: 3_000 }) }),
      fc.record({ shift: fc.integer({ min: 0, max: 3_000 }) }),
    ),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(steps, (all) => {
      const fifo = new Fifo<number>();
      const model: number[] = [];
      let next = 0;
      for (const step of all) {
        if ("push" in step) {
          for (let i = 0; i < step.push; i += 1) {
            next += 1;
            fifo.push(next);
            model.push(next);
          }
        } else {
          const shifted = Math.min(step.shift, model.length + 1);
          for (let i = 0; i < shifted; i += 1) {
            if (fifo.shift() !== model.shift()) throw new Error(`shift ${i}`);
          }
        }
        expect(fifo.length).toBe(model.length);
        expect([fifo.at(0), fifo.at(model.length - 1), fifo.at(model.length)]).toEqual([
          model[0],
          model.at(-1),
          undefined,
        ]);
      }
      const visited: number[] = [];
      fifo.forEach((item) => {
        visited.push(item);
      });
      expect(visited).toEqual(model);
      expect(fifo.list()).toEqual(model);
    }),
    { numRuns: 50 },
  );
});
