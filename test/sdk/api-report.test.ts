import { expect, it } from 'vitest';
import { apiReport } from '../../scripts/api-report.ts';

const rest: [string, string][] = [
  ['sdk/testing.d.ts', 'export {};'],
  ['sdk/client/index.d.ts', "export type { Api } from './api.js';"],
  ['sdk/client/api.d.ts', 'export interface Api { getStream(): void }'],
];
const report = (token: string, plugin = "export { token } from '../core/token.js';") =>
  apiReport(new Map([['sdk/plugin.d.ts', plugin], ['core/token.d.ts', token], ...rest]));
const before = report('interface Token { id: string }\nexport declare function token(): Token;');

it('has what is exported, and what that names', () => {
  expect(before).toMatch(/## millrace\/plugin\n\n```ts\nfunction token\(\): Token;\n```/);
  expect(before).toMatch(/cannot be imported\.\n\n```ts\ninterface Token \{\n {4}id: string;\n\}\n```/);
  expect(before).not.toContain('getStream');
});

it.each([
  ['a member', 'interface Token { id: string; x?: 1 }\nexport declare function token(): Token;'],
  ['a parameter', 'interface Token { id: string }\nexport declare function token(id: string): Token;'],
])('changes with %s', (_, token) => {
  expect(report(token)).not.toBe(before);
});

it.each([
  [
    'comments',
    '/** A token. */\ninterface Token { id: string }\n/** Makes one. */\nexport declare function token(): Token;',
  ],
  ['line breaks', 'interface Token {\n  id: string;\n}\nexport declare function token(): Token;'],
  ['the order of the file', 'export declare function token(): Token;\ninterface Token { id: string }'],
])('does not change with %s', (_, token) => {
  expect(report(token)).toBe(before);
});

it('does not change with the file that a name comes from', () => {
  const moved = apiReport(
    new Map([
      ['sdk/plugin.d.ts', "export { token } from '../core/other.js';"],
      [
        'core/other.d.ts',
        'interface Token { id: string }\nexport declare function token(): import("./other.ts").Token;',
      ],
      ...rest,
    ]),
  );
  expect(moved).toContain('function token(): Token;');
});
