import { readFileSync } from 'node:fs';
import { Glob } from 'bun';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;
/** They connect to what is no user's choice (the operator's brokers), or are the guarded client itself. */
const mayConnect = /^runtime\/(drivers\/(outbound|bus\/kafka)|media\/rtmp)\/|^plugins\/watch\/page\//;
const calls =
  /(?<![.\w])fetch\(|\bglobalThis\.fetch\b|\bBun\.(connect|fetch)\(|(?:from|import) ?\(?['"](node:)?(https?|http2|tls|dgram|dns(\/promises)?)['"]|new WebSocket\(|\bconnect\b[^;]*from 'node:net'|\bdns\b[^;]*from 'bun'|\bBun\.dns\b/;

/** A table of words. */
const statusCodes = "import { STATUS_CODES } from 'node:http';";

test('nothing but the guarded client calls out', () => {
  const found: string[] = [];
  for (const path of new Glob('{core,machines,config,plugins,runtime}/**/*.ts').scanSync(root)) {
    const text = readFileSync(`${root}${path}`, 'utf8').replace(statusCodes, '');
    if (!mayConnect.test(path) && calls.test(text)) found.push(path);
  }
  expect(found).toEqual([]);
});

test.each([
  "await fetch('http://a')",
  "import http from 'node:http'",
  'Bun.connect({',
  "import { connect } from 'node:net'",
  "import { dns } from 'bun'",
])('%s is seen', (line) => expect(calls.test(line)).toBe(true));
test.each(['store.fetch(', "import { isIP } from 'node:net'", 'app.handle('])('%s is fine', (line) =>
  expect(calls.test(line)).toBe(false),
);
