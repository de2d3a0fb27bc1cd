import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { clientApi } from '../../scripts/client.ts';

it('the types of the client are those of the program: otherwise run "sh scripts/bun.sh scripts/client.ts"', async () => {
  const file = new URL('../../sdk/client/api.ts', import.meta.url);
  expect(readFileSync(file, 'utf8')).toBe(await clientApi());
});
