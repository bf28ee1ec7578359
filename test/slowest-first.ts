/**
 * The order of the long tests: the files that take longest begin first, at the same time, so that
 * none of them is left alone at the end. It must never leave a file out.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

const SLOWEST =
  /\/(alerts|access|cluster|mutants-found|seeds|run-many|installed|smoke|power-loss)\.\w+\.test\.ts$/;

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFirst = ({ moduleId }: TestSpecification): boolean => SLOWEST.test(moduleId);
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}
