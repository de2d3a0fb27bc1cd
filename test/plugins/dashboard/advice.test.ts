import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { issueTexts } from '../../../plugins/health/judge.ts';

/** Pages are plain JavaScript: what they export has no types. */
const lib = join(import.meta.dirname, '../../../plugins/dashboard/page/lib');
const { kindOf } = (await import(join(lib, 'advice.js'))) as { kindOf(issue: string): string | undefined };
const { encoders } = (await import(join(lib, 'encoders.js'))) as {
  encoders: readonly { id: string; fixes: Readonly<Record<string, string>> }[];
};

/** No setting of an encoder removes these. */
const unfixable = ['stall', 'drift', 'videoMissing', 'held'];

describe('advice for encoders', () => {
  const texts = Object.entries(issueTexts).filter(([name]) => !unfixable.includes(name));
  it.each(encoders)('of $id names a setting for each issue of a broadcast', ({ fixes }) => {
    for (const [name, text] of texts) expect(fixes[kindOf(text) ?? ''], name).toBeTruthy();
  });
});
