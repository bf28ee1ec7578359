/** Bounds how much the searches for cycles of waits look at, which decides what they find. */

/** The limit of steps was reached before the answer was found. */
export class OutOfSteps extends Error {}

/** How many more steps may be taken; several searches may share one. */
export class StepLimit {
  left: number;

  constructor(left: number) {
    this.left = left;
  }

  take(): void {
    if (this.left === 0) throw new OutOfSteps("out of steps");
    this.left -= 1;
  }
}
