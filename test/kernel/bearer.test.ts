import { expect, it } from 'vitest';
import { type Authenticator, authenticate, type Principal } from '../../core/http/auth.ts';

const principal: Principal = { accountId: 'a', isAdmin: false, keyId: 'k', keyName: 'k', access: {} };

/** The key that is found in a header, or the code of what is thrown. */
async function keyIn(header: string | undefined): Promise<string> {
  let asked = '';
  const keys: Authenticator = {
    async principal(key) {
      asked = key;
      return principal;
    },
    exists: async () => true,
    onRevoked: () => () => {},
  };
  const request = new Request(
    'http://localhost/',
    header === undefined ? {} : { headers: { authorization: header } },
  );
  try {
    await authenticate(request, keys);
    return asked;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

it.each([
  ...['Bearer k-1_~', 'bearer k-1_~', 'BEARER k-1_~', 'bEaReR    k-1_~', 'Bearer k-1_~   '].map((header) => [
    header,
    'k-1_~',
  ]),
  ['Bearer ø', 'ø'],
  ['Bearer Bearer', 'Bearer'],
])('the header "%s" has the key "%s"', async (header, key) => {
  expect(await keyIn(header)).toBe(key);
});

it.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Bearerk',
  'Bearer\tk',
  'Bearer k l',
  'Bearer k\u00a0',
  'Basic k',
  'XBearer k',
  'k',
])('the header "%s" has no key', async (header) => {
  expect(await keyIn(header)).toBe('auth.missing');
});
