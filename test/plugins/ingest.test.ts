import { describe, expect, it } from 'vitest';
import { cidr, matchLength } from '../../core/base/cidr.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import ingest from '../../plugins/ingest/index.ts';
import { listen } from '../../runtime/http/listen.ts';
import { world } from '../kit/world.ts';

const plugins = [ingest] as unknown as Plugin[];
const path = '/api/ingest';

function region(name: string, cidrs?: string[]) {
  return { region: name, ...shown(name), ...(cidrs && { cidrs }) };
}

/** As `first=false` shows it. */
function shown(name: string) {
  const base = `https://${name}-cdn.example.com`;
  return { ingest: `rtmp://${name}-rtmp.example.com/live`, playback: `${base}/hls`, base };
}

const config = {
  ingest: {
    regions: [
      region('fra'),
      region('nyc', ['10.0.0.0/8', '2001:db8::/32']),
      region('sao', ['10.1.0.0/16', '2001:db8:ffff::/48']),
    ],
  },
};

describe('ingest discovery', () => {
  it('has one entry of its own by default, and needs no key', async () => {
    await using w = await world({ plugins });
    const { status, body, headers } = await w.request('GET', path, { key: null });
    const entry = { ingest: 'rtmp://localhost:1935/live', playback: 'http://localhost:8080/hls' };
    expect([status, body]).toEqual([200, [entry]]);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    const all = await w.request('GET', `${path}?first=false`, { key: null });
    expect(all.body).toEqual([{ ...entry, base: 'http://localhost:8080' }]);
  });

  it.each([
    ['192.0.2.1', ['fra', 'nyc', 'sao']],
    ['10.2.0.1', ['nyc', 'fra', 'sao']],
    ['10.1.2.3', ['sao', 'nyc', 'fra']],
    ['::ffff:10.1.2.3', ['sao', 'nyc', 'fra']],
    ['2001:db8:1::1', ['nyc', 'fra', 'sao']],
    ['2001:db8:ffff::1', ['sao', 'nyc', 'fra']],
    ['fe80::1%eth0', ['fra', 'nyc', 'sao']],
  ])('puts the nearest first: %s', async (peer, names) => {
    await using w = await world({ plugins, config });
    const { body: all } = await w.request('GET', `${path}?first=false`, { key: null, peer });
    expect(all).toEqual(names.map(shown));
    const { body: first } = await w.request('GET', path, { key: null, peer });
    const { base: _, ...nearest } = shown(names[0]);
    expect(first).toEqual([nearest]);
  });

  it('believes no header about who asks', async () => {
    await using w = await world({ plugins, config });
    const headers = {
      'x-forwarded-for': '10.1.2.3',
      'x-real-ip': '10.1.2.3',
      forwarded: 'for=10.1.2.3',
      'cf-connecting-ip': '10.1.2.3',
    };
    const { body } = await w.request('GET', `${path}?first=false`, { headers, peer: '192.0.2.1' });
    expect(body[0]).toEqual(shown('fra'));
  });

  it('knows the peer of a real connection', async () => {
    const near = { ingest: { regions: [region('fra'), region('lop', ['127.0.0.0/8'])] } };
    await using w = await world({ plugins, config: near });
    const log = { debug() {}, info() {}, warn() {}, error() {}, with: () => log };
    const server = await listen(w.app, { host: '127.0.0.1', port: 0, log });
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}?first=false`);
    expect((await answer.json())[0]).toEqual(shown('lop'));
    await server.stop();
  });

  it('lets a browser ask first', async () => {
    await using w = await world({ plugins });
    const { status, headers } = await w.request('OPTIONS', path, { key: null });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  });

  it.each([
    [{ region: 'Frankfurt' }, 'regions.0.region: expected three lower-case letters'],
    [{ ingest: 'http://x/live' }, 'regions.0.ingest: expected a URL such as'],
    [{ playback: 'nowhere' }, 'regions.0.playback: expected a URL such as'],
    [{ base: undefined }, 'regions.0.base: expected a URL such as'],
    [{ cidrs: ['10.0.0.0/33'] }, 'regions.0.cidrs.0: expected a block'],
    [{ colour: 'blue' }, 'regions.0.colour: unknown field'],
  ])('stops the start when the config is wrong: %j', async (wrong, problem) => {
    const regions = [{ ...region('fra'), ...wrong }];
    await expect(world({ plugins, config: { ingest: { regions } } })).rejects.toThrow(
      `plugins.ingest.${problem}`,
    );
  });
});

describe('a block of addresses', () => {
  it.each(['10.0.0.0', '10.0.0/8', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', '::/129', ':::/8', 'x/8', ''])(
    'is not %j',
    (text) => {
      expect(cidr(text)).toBeUndefined();
    },
  );

  it.each([
    ['0.0.0.0/0', '203.0.113.9', 0],
    ['::/0', '203.0.113.9', -1],
    ['::/0', '2001:db8::1', 0],
    ['192.0.2.128/25', '192.0.2.127', -1],
    ['192.0.2.128/25', '192.0.2.200', 25],
    ['192.0.2.7/32', '192.0.2.7', 32],
    ['2001:DB8::/33', '2001:db8:7fff::1', 33],
    ['2001:db8::/33', '2001:db8:8000::1', -1],
    ['64:ff9b::192.0.2.0/120', '64:ff9b::c000:2ff', 120],
    ['1:2:3:4:5:6:7:8/128', '1:2:3:4:5:6:7:8', 128],
    ['10.0.0.0/8', 'nobody', -1],
  ])('%s holds %s by %i bits', (block, address, length) => {
    const parsed = cidr(block);
    expect(parsed).toBeDefined();
    expect(matchLength(address, parsed ? [parsed] : [])).toBe(length);
  });
});
