/**
 * The order in which vitest begins files: those that take long first, so that none of them is begun last and runs on
 * alone. Vitest itself goes by what it remembers of the last run, and in a fresh checkout by the size of the files.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest first. `npm test` and `npm run e2e` end with their ten slowest: who is there and not here belongs here. */
export const longest = ['test/recording/take-film.e2e.ts'];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Projects run in their order, whatever the files: the sort is stable, so that is kept where it is compared first.
    return sorted.sort((one, other) => groupOf(one) - groupOf(other) || rankOf(one) - rankOf(other));
  }
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder;
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = longest.indexOf(relative(process.cwd(), moduleId));
  return rank === -1 ? longest.length : rank;
}
