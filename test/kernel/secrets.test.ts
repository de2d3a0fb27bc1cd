import { expect, it } from 'vitest';
import { newStreamKey, uuid } from '../../core/base/ids.ts';
import { jsonLog } from '../../core/base/log.ts';
import { withoutSecrets } from '../../core/base/secrets.ts';

it.each([
  ['a stream key', 'There is no stream ab12-cd34-ef56-gh78.', 'There is no stream ***.'],
  ['an API key', 'mr_0123456789012345678901234567890123456789abc: unknown field', '***: unknown field'],
  ['a target', 'bad: rtmps://live.example.com/app/key?x=1 here', 'bad: rtmps://*** here'],
  ['a made bootstrap key', '/api/stream/Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4', '/api/stream/***'],
])('leaves out %s', (_, text, shown) => {
  expect(withoutSecrets(text)).toBe(shown);
});

it.each([
  `There is no stream ${uuid()}.`,
  'Idempotency-Key: expected 1 to 255 visible ASCII characters without spaces.',
  'The event d3.17/0/stream.started is unknown or older than 24 h.',
  'publicUrl: expected a URL without a path, such as https://video.example.com',
  'access.cors.allowedOrigins.0: expected https://example.com, as browsers send it',
  'access-control-allow-origin-of-a-page',
  'url: expected an rtmp://, rtmps:// or srt:// URL of at most 2000 characters',
])('leaves "%s" alone', (text) => {
  expect(withoutSecrets(text)).toBe(text);
});

it('keeps secrets out of log lines, whatever field they are in', () => {
  const key = newStreamKey();
  const lines: string[] = [];
  const log = jsonLog({ level: 'debug', now: () => 0, write: (line) => lines.push(line) });
  log.error(`went wrong with ${key}`, {
    path: `/api/${key}`,
    error: new Error(`no ${key}`),
    streamKey: key,
    inner: { list: [key] },
  });
  log.with({ what: key }).debug('more');
  expect(lines).toHaveLength(2);
  expect(lines.join('\n')).not.toContain(key);
});
