import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Locator, Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Violations that axe calls serious or critical, on the page or in a part of it. */
export async function violationsOf(page: Page, within?: Locator): Promise<string[]> {
  // As text: the policy of the page refuses a script element.
  await page.evaluate(axe);
  return page.evaluate(
    async (part) => {
      const { run } = (window as unknown as { axe: Axe }).axe;
      const { violations } = await run(part ?? document, { resultTypes: ['violations'] });
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
    },
    await within?.elementHandle(),
  );
}

interface Axe {
  run(of: unknown, options: { resultTypes: string[] }): Promise<{ violations: Violation[] }>;
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}
