import { expect, test } from 'vitest';
import { licenceProblem } from '../../scripts/licence-problem.ts';

test('strong copyleft and no licence at all are problems', () => {
  for (const bad of [
    'GPL-3.0-only',
    'AGPL-3.0',
    'SSPL-1.0',
    'MIT AND GPL-2.0',
    '(GPL-2.0 OR AGPL-3.0)',
    undefined,
  ]) {
    expect(licenceProblem(bad), String(bad)).toBeTypeOf('string');
  }
});

test('permissive and weak copyleft licences are fine, and so is a choice that has one', () => {
  for (const good of [
    'MIT',
    'Apache-2.0',
    'MPL-2.0',
    'LGPL-3.0',
    '(MIT OR GPL-3.0)',
    'BSD-3-Clause AND MIT',
  ]) {
    expect(licenceProblem(good), good).toBeUndefined();
  }
});
