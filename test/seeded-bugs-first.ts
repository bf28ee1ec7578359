/**
 * The order of the long tests: the file with all seeded bugs takes as long as all others together, so
 * it begins first, next to them. It must never leave a file out.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

const FIRST = /\/(mutants-found|seeds|fuzz)\.long\.test\.ts$/;

export class SeededBugsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFirst = ({ moduleId }: TestSpecification): boolean => FIRST.test(moduleId);
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}
