/** Bounds the steps of the searches for cycles of waits. The bound decides what they find. */

/** The limit of steps was reached before the answer was found. */
export class OutOfSteps extends Error {}

/** A number of remaining steps, which several searches can share. */
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
