import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { didYouMeanScheme, nearMiss } from '../../core/base/near-miss.ts';
import { nearPath } from '../../core/http/routes.ts';

describe('a near miss', () => {
  it.each([
    ['streems', ['stills', 'streams'], 'streams'],
    ['htpp', ['http', 'https'], 'http'],
    ['datadir', ['dataDir'], 'dataDir'],
    ['HTTP_PORT', ['HTTP__PORT'], 'HTTP__PORT'],
    ['stream.startd', ['stream.idle', 'stream.started'], 'stream.started'],
    ['name', ['game', 'lame'], 'game'],
    ['colour', ['roles', 'redis'], undefined],
    ['ab', ['ac'], undefined],
    ['', ['id'], undefined],
    ['streams'.repeat(20), ['streams'.repeat(20).slice(1)], undefined],
  ])('of %s among %j is %s', (name, known, meant) => {
    expect(nearMiss(name, known)).toBe(meant);
  });

  it.each([
    ['htpp://example.com', ['http', 'https'], '; did you mean http?'],
    ['HTTTPS://example.com', ['http', 'https'], '; did you mean https?'],
    ['rmtp://a/live/key', ['rtmp', 'rtmps', 'srt'], '; did you mean rtmp?'],
    ['ftp://example.com', ['http', 'https'], ''],
    ['example.com/hook', ['http', 'https'], ''],
    ['https://', ['http', 'https'], ''],
  ])('of a scheme: %s', (url, schemes, hint) => {
    expect(didYouMeanScheme(url, schemes)).toBe(hint);
  });

  const near = nearPath([
    new Elysia()
      .get('/api/stream', '')
      .get('/api/stream/:id', '')
      .get('/api/stream/:id/sessions', '')
      .options('/api/secret', '')
      .get('/docs', '')
      .get('/hls/:id/*', '')
      .get('/', ''),
  ]);

  it.each([
    ['/api/streams', '/api/stream'],
    ['/api/streams/', '/api/stream'],
    ['/stream', '/api/stream'],
    ['/streams/4f', '/api/stream/4f'],
    ['/api/stream/4f/sesions', '/api/stream/4f/sessions'],
    ['/doc', '/docs'],
    ['/api/stream/4f/everything', undefined],
    ['/api/secrets', undefined],
    ['/favicon.ico', undefined],
    ['//', undefined],
    [`/api${'/x'.repeat(5000)}`, undefined],
  ])('of the path %.30s is %s', (path, meant) => {
    expect(near(path)).toBe(meant);
  });
});
