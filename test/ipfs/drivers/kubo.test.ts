import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { events, failed, kuboNode } from '../../kit/kubo-node.ts';
import { cidOf } from '../../kit/pinning-service.ts';
import { cidTable } from '../cid-table.ts';
import { bytes, faultOf, kuboAt, never, opened } from './kit.ts';

describe('a Kubo node', () => {
  it.each(['unixfs-v1-2025', 'unixfs-v0-2015'] as const)('adds and pins by %s', async (cidProfile) => {
    await using node = await kuboNode();
    using d = opened({ ...kuboAt(node.url), cidProfile });
    const file = await d.add(bytes, { name: 'a/b & c.mp4' });
    expect(file.cid).toBe(await cidOf(bytes, cidProfile));
    expect(file.told.at(-1)).toBe(1);
    const document = { name: 'Ünï', list: [1, 2] };
    const { cid } = await d.driver.addJson(document, { name: 'a.json', signal: never });
    expect(cid).toBe(await cidOf(Buffer.from(JSON.stringify(document)), cidProfile));
    expect(node.added).toEqual([
      { cid: file.cid, pinName: 'a/b & c.mp4', bytes: Buffer.from(bytes) },
      { cid, pinName: 'a.json', bytes: Buffer.from(JSON.stringify(document)) },
    ]);
  });

  const good = cidTable[0].cids['unixfs-v1-2025'];
  const older = cidTable[0].cids['unixfs-v0-2015'];
  it.each<[what: string, trouble: (response: ServerResponse) => void, fault: object, message: RegExp]>([
    [
      'an error',
      (to) => failed(to, 'no space left on device'),
      { code: 'ipfs.trouble', retry: true },
      /500: no space left/,
    ],
    ['400', (to) => failed(to, 'bad option', 400), { code: 'ipfs.refused', retry: false }, /400: bad option/],
    [
      '403',
      (to) => void to.writeHead(403).end('403 - Forbidden'),
      { code: 'ipfs.refused', retry: false },
      /403/,
    ],
    [
      'an error behind the CID',
      (to) => events(to, { body: [{ Name: 'file', Hash: good, Size: '1' }], late: 'pin: context canceled' }),
      { code: 'ipfs.trouble', retry: true },
      /failed: pin: context canceled/,
    ],
    [
      'an error before the CID',
      (to) => events(to, { body: [{ Name: 'file', Bytes: 100 }], late: 'unexpected EOF' }),
      { code: 'ipfs.trouble', retry: true },
      /unexpected EOF/,
    ],
    [
      'an error among the events',
      (to) => events(to, { body: [{ Message: 'disk\r\nfull', Code: 0, Type: 'error' }] }),
      { code: 'ipfs.trouble', retry: true },
      /failed: disk full/,
    ],
    [
      'nothing',
      (to) => events(to, { body: [] }),
      { code: 'ipfs.trouble', retry: true },
      /before it had added/,
    ],
    [
      'a connection that breaks',
      (to) => {
        to.writeHead(200, { 'content-type': 'application/json' });
        to.write(`{"Name":"file","Hash":"${good}"}\n`, () => to.destroy());
      },
      { code: 'ipfs.trouble', retry: true },
      /could not be reached/,
    ],
    [
      'a CID of the other version',
      (to) => events(to, { body: [{ Hash: older }] }),
      { code: 'ipfs.answer', retry: false },
      /one CID/,
    ],
    [
      'two CIDs',
      (to) => events(to, { body: [{ Hash: good }, { Hash: good }] }),
      { code: 'ipfs.answer' },
      /one CID/,
    ],
    [
      'no CID',
      (to) => events(to, { body: [{ Name: 'file', Hash: 'x' }] }),
      { code: 'ipfs.answer' },
      /one CID/,
    ],
    ['no JSON', (to) => void to.end('<html>'), { code: 'ipfs.answer', retry: false }, /one CID/],
    [
      'events without end',
      (to) => events(to, { body: Array(9000).fill({ Name: 'file', Bytes: 1 }) }),
      { code: 'ipfs.answer' },
      /65536/,
    ],
  ])('answers %s', async (_, trouble, fault, message) => {
    await using node = await kuboNode();
    using d = opened(kuboAt(node.url));
    node.trouble(trouble);
    const found = await faultOf(d.add(bytes));
    expect(found).toMatchObject(fault);
    expect(found.message).toMatch(message);
    expect(found.message).toContain(`The Kubo node at ${node.url}`);
    expect((await d.add(bytes)).cid).toBe(await cidOf(bytes));
  });

  it.each([
    [
      '0.34.1',
      { code: 'ipfs.refused', retry: false, message: expect.stringContaining('is Kubo 0.34; 0.35 or later') },
    ],
    ['none', { code: 'ipfs.answer', message: expect.stringContaining('which version') }],
  ])('of version %s is not given anything', async (version, fault) => {
    await using node = await kuboNode();
    using d = opened(kuboAt(node.url));
    node.version = version;
    expect(await faultOf(d.add(bytes))).toMatchObject(fault);
    expect(node.added).toEqual([]);
    for (const later of ['0.35.0', '0.100.0-rc1', '1.0.0']) {
      node.version = later;
      await d.add(bytes);
    }
  });

  it('of this machine must be opened by the deployment', async () => {
    await using node = await kuboNode();
    using d = opened(kuboAt(node.url), { allow: [] });
    expect(await faultOf(d.add(bytes))).toMatchObject({
      ...{ code: 'ipfs.not_allowed', retry: false },
      message: expect.stringMatching(/^The Kubo node at http:.*outbound\.allow/),
    });
  });
});
