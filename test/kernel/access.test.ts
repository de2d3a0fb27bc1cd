import { describe, expect, it } from 'vitest';
import { type Access, allows, demandOf, excessOf, resourcePattern } from '../../core/http/access.ts';

const rules = (...resources: string[]): Access => ({ rules: [{ resources }] });
const asks = (path: string, method = 'GET') =>
  demandOf(new Request(`http://localhost:8080${path}`, { method }));

describe('the rules of a key', () => {
  it.each([
    ['stream', '/api/stream'],
    ['stream', '/api/stream?limit=5'],
    ['stream', '/api/stream?x=/api/asset'],
    ['stream/*', '/api/stream/1'],
    ['stream/*', '/api/stream/1/sessions'],
    ['stream/:id', '/api/stream/1'],
    ['stream/:id', '/api/stream/a%2Fb'],
    ['stream/:id/sessions', '/api/stream/1/sessions'],
    ['stream/1', '/api/stream/1'],
    [':any', '/api/stream'],
    ['*', '/api/stream'],
    ['*', '/api/stream/1/sessions'],
  ])('%s allows %s', (pattern, path) => {
    expect(allows(rules('nothing', pattern), asks(path))).toBe(true);
  });

  it.each([
    ['stream', '/api/stream/1'],
    ['stream', '/api/streams'],
    ['stream', '/api/STREAM'],
    ['stream', '/API/stream'],
    ['stream', '/api/stream/'],
    ['stream', '/api//stream'],
    ['stream', '//api/stream'],
    ['stream', '/api/%73tream'],
    ['stream', '/stream'],
    ['stream', '/api/asset?/api/stream'],
    ['stream', '/api/asset#/api/stream'],
    ['stream/*', '/api/stream'],
    ['stream/*', '/api/stream/'],
    ['stream/*', '/api/stream/../asset'],
    ['stream/*', '/api/stream/%2e%2e/asset'],
    ['stream/*', '/api/stream%2F1'],
    ['stream/:id', '/api/stream'],
    ['stream/:id', '/api/stream/'],
    ['stream/:id', '/api/stream/1/'],
    ['stream/:id', '/api/stream/1/terminate'],
    ['stream/:id', '/api/stream//terminate'],
    ['stream/1', '/api/stream/2'],
    ['stream/1', '/api/stream/%31'],
    ['*', '/metrics'],
    ['*', '/api'],
    ['*', '/api/'],
  ])('%s does not allow %s', (pattern, path) => {
    expect(allows(rules(pattern), asks(path))).toBe(false);
  });

  it('see paths that no URL of ours can have', () => {
    const path = (text: string) => ({ method: 'get', path: text });
    for (const hostile of [
      'stream/..',
      'stream/../asset',
      'stream/.',
      'stream//x',
      '',
      '/stream',
      'stream/*',
    ]) {
      expect(allows(rules('stream/:id', 'stream/:id/:x', ':a'), path(hostile))).toBe(false);
    }
  });

  it('hold for the methods they name, HEAD as GET; without methods for all that are known', () => {
    const reading: Access = { rules: [{ resources: ['stream'], methods: ['get'] }] };
    expect(allows(reading, asks('/api/stream'))).toBe(true);
    expect(allows(reading, asks('/api/stream', 'HEAD'))).toBe(true);
    expect(allows(reading, asks('/api/stream', 'POST'))).toBe(false);
    expect(allows(rules('stream'), asks('/api/stream', 'POST'))).toBe(true);
    expect(allows(rules('stream'), asks('/api/stream', 'PROPFIND'))).toBe(false);
    expect(allows({ rules: [{ resources: ['stream'], methods: [] }] }, asks('/api/stream'))).toBe(false);
  });

  it('allow everything when absent and nothing when empty', () => {
    expect(allows({}, asks('/api/stream', 'DELETE'))).toBe(true);
    expect(allows({}, asks('/metrics'))).toBe(true);
    expect(allows({ rules: [] }, asks('/api/stream'))).toBe(false);
    expect(allows(rules(), asks('/api/stream'))).toBe(false);
  });
});

describe('what a key gives on', () => {
  it.each([
    ['*', 'stream'],
    ['*', '*'],
    ['*', ':x/:y'],
    ['stream/*', 'stream/*'],
    ['stream/*', 'stream/:id'],
    ['stream/*', 'stream/:id/*'],
    ['stream/:id', 'stream/:other'],
    ['stream/:id', 'stream/1'],
    ['stream/:id/*', 'stream/1/*'],
  ])('%s holds %s', (own, asked) => {
    expect(excessOf(rules(asked), rules('nothing', own))).toBeUndefined();
  });

  it.each([
    ['stream', '*'],
    ['stream', 'stream/*'],
    ['stream/*', 'stream'],
    ['stream/*', '*'],
    ['stream/:id', 'stream/*'],
    ['stream/:id', ':x/:id'],
    ['stream/1', 'stream/:id'],
    ['stream/:id/*', 'stream/*'],
    ['stream/:id/:x', 'stream/:id/*'],
    ['stream/:id', 'stream'],
    ['Stream', 'stream'],
  ])('%s does not hold %s, which is named', (own, asked) => {
    expect(excessOf(rules(asked), rules(own))).toBe(`get ${asked}`);
  });

  it('counts every method alone', () => {
    const own: Access = {
      rules: [
        { resources: ['stream'], methods: ['get'] },
        { resources: ['*'], methods: ['post'] },
      ],
    };
    const both: Access = { rules: [{ resources: ['stream'], methods: ['post', 'get'] }] };
    expect(excessOf(both, own)).toBeUndefined();
    expect(excessOf(rules('stream'), own)).toBe('put stream');
  });

  it('is never everything when it has rules itself', () => {
    expect(excessOf({}, rules('*'))).toBe('access without rules');
    expect(excessOf({ cors: { allowedOrigins: [] } }, rules('*'))).toBe('access without rules');
    expect(excessOf({}, { rules: [] })).toBe('access without rules');
    expect(excessOf({ rules: [] }, { rules: [] })).toBeUndefined();
    expect(excessOf({}, {})).toBeUndefined();
  });

  it('are its own origins when it has a list', () => {
    const cors = (...allowedOrigins: string[]): Access => ({ cors: { allowedOrigins } });
    expect(excessOf(cors('https://a'), cors('https://a', 'https://b'))).toBeUndefined();
    expect(excessOf(cors('https://a'), cors('*'))).toBeUndefined();
    expect(excessOf(cors('https://a'), {})).toBeUndefined();
    expect(excessOf(cors('https://c'), cors('https://a'))).toBe('the origin https://c');
    expect(excessOf(cors('*'), cors('https://a'))).toBe('the origin *');
    expect(excessOf(cors('https://a'), cors())).toBe('the origin https://a');
  });
});

/**
 * By brute force: whatever is allowed by rules that were found to hold no more, is allowed by the maker's. Over all
 * pairs of patterns of up to three segments, and all paths of up to four.
 */
describe('giving on, over all small patterns', () => {
  it('never widens', () => {
    const patterns = words(['a', 'b', ':x', '*'], 3).filter((text) => new RegExp(resourcePattern).test(text));
    const paths = words(['a', 'b', 'c'], 4).map((path) => ({ method: 'get', path }));
    const reach = new Map(
      patterns.map((pattern) => [pattern, paths.map((path) => allows(rules(pattern), path))]),
    );
    let held = 0;
    for (const own of patterns) {
      for (const asked of patterns) {
        if (excessOf(rules(asked), rules(own)) !== undefined) continue;
        held += 1;
        const mine = reach.get(own) as boolean[];
        expect(reach.get(asked)?.every((isReached, index) => !isReached || mine[index])).toBe(true);
      }
    }
    expect(held).toBeGreaterThan(patterns.length);
  });
});

describe('a resource of a rule', () => {
  it.each(['stream', 'stream/*', 'asset/:id', '*', 'a-b_c.d~e', 'stream/:id/*', 'x/...'])(
    'may be %s',
    (text) => {
      expect(text).toMatch(new RegExp(resourcePattern));
    },
  );

  it.each([
    ...[
      '',
      '/',
      '/stream',
      'stream/',
      'a//b',
      '.',
      '..',
      'stream/..',
      '../x',
      'a/./b',
      'stream/%2e%2e',
      'a%2Fb',
    ],
    ...['*/x', 'stream/**', 'str*', ':', ':1', 'stream/:', 'a b', 'a?b', 'a#b', 'stream\n', 'a\\b', 'ä'],
  ])('may not be %j', (text) => {
    expect(text).not.toMatch(new RegExp(resourcePattern));
  });
});

/** All texts of 1 to `length` of these segments. */
function words(segments: readonly string[], length: number): string[] {
  if (length === 0) return [];
  const shorter = words(segments, length - 1);
  const ends = shorter.length === 0 ? [''] : ['', ...shorter];
  return [
    ...new Set(ends.flatMap((end) => segments.map((first) => (end === '' ? first : `${first}/${end}`)))),
  ];
}
