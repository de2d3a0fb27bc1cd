import { describe, expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import type { IpfsDriver } from '../../../plugins/exports/ipfs/ipfs-driver.ts';
import { exportToIpfs, metadataOf } from '../../../plugins/exports/to-ipfs.ts';
import type { TaskWork } from '../../../plugins/tasks/contract.ts';
import { film, key } from './run-kit.ts';

describe('an export to IPFS', () => {
  /** A driver that answers as it is told, and remembers what it was given. */
  function scripted(options: { file?: Fault; json?: Fault } = {}) {
    const added: unknown[] = [];
    const driver: IpfsDriver = {
      async addFile(file, { progress }) {
        if (options.file) throw options.file;
        progress(0.5);
        progress(1);
        added.push(file);
        return { cid: 'bafyvideo' };
      },
      async addJson(document, { name }) {
        if (options.json) throw options.json;
        added.push({ document, name });
        return { cid: 'bafyjson' };
      },
      gatewayUrl: (cid) => `https://gateway.example/ipfs/${cid}`,
    };
    return { driver, added };
  }
  const progress: number[] = [];
  const work = (name: string, signal = new AbortController().signal) =>
    ({ name, signal, progress: (fraction: number) => void progress.push(fraction) }) as unknown as TaskWork;
  const video = { key, size: film.length, md5: '', sha256: '' };

  it('adds the video, then what describes it, and answers all names of both', async () => {
    const { driver, added } = scripted();
    const metadata = { image: 'ipfs://pic', description: null, properties: { by: 'me' } };
    const result = await exportToIpfs(video, { work: work('Fri/day'), driver, metadata });
    expect(added).toEqual([
      { key, size: film.length, name: 'Fri_day.mp4' },
      {
        name: 'Fri_day.json',
        document: {
          ...{ name: 'Fri/day', animation_url: 'ipfs://bafyvideo', image: 'ipfs://pic' },
          properties: { video: 'ipfs://bafyvideo', by: 'me' },
        },
      },
    ]);
    const json = {
      Cid: 'bafyjson',
      Url: 'ipfs://bafyjson',
      GatewayUrl: 'https://gateway.example/ipfs/bafyjson',
    };
    const named = (prefix: string) =>
      Object.fromEntries(Object.entries(json).map(([name, value]) => [prefix + name, value]));
    expect(result).toEqual({
      outcome: 'done',
      output: {
        ipfs: {
          ...{ videoFileCid: 'bafyvideo', videoFileUrl: 'ipfs://bafyvideo' },
          videoFileGatewayUrl: 'https://gateway.example/ipfs/bafyvideo',
          ...named('erc1155Metadata'),
          ...named('nftMetadata'),
        },
      },
    });
    expect(progress).toEqual([0.495, 0.99]);
  });

  it('leaves what goes wrong to whoever runs it', async () => {
    const refused = new Fault('ipfs.refused', { status: 502, message: 'no', retry: false });
    for (const options of [{ file: refused }, { json: refused }]) {
      const { driver } = scripted(options);
      const ended = exportToIpfs(video, { work: work('A'), driver, metadata: undefined });
      await expect(ended).rejects.toBe(refused);
    }
  });

  it('goes no further when it was given up', async () => {
    const { driver, added } = scripted();
    const reason = new Fault('job.cancelled', { status: 503, message: 'no' });
    const ended = exportToIpfs(video, {
      work: work('A', AbortSignal.abort(reason)),
      ...{ driver, metadata: undefined },
    });
    await expect(ended).rejects.toBe(reason);
    expect(added).toHaveLength(1);
  });
});

describe('the metadata of a token', () => {
  const video = { name: 'Friday show', url: 'ipfs://bafy' };
  const own = {
    ...{ name: 'Friday show', description: 'Video: Friday show', animation_url: 'ipfs://bafy' },
    properties: { video: 'ipfs://bafy' },
  };

  it.each<[string, Record<string, unknown>, unknown]>([
    ['nothing', {}, own],
    ['a text', { name: 'Mine' }, { ...own, name: 'Mine' }],
    ['a new key', { image: 'ipfs://pic' }, { ...own, image: 'ipfs://pic' }],
    ['null', { description: null, absent: null }, without('description')],
    ['an object', { properties: { by: 'me' } }, { ...own, properties: { video: 'ipfs://bafy', by: 'me' } }],
    ['null in an object', { properties: { video: null } }, { ...own, properties: {} }],
    ['a list', { properties: [1, null] }, { ...own, properties: [1, null] }],
    ['an object over a text', { name: { en: 'A', de: null } }, { ...own, name: { en: 'A' } }],
    ['a text over an object', { properties: 'none' }, { ...own, properties: 'none' }],
    ['objects in lists as they are', { a: [{ b: null }] }, { ...own, a: [{ b: null }] }],
  ])('is changed by %s', (_, given, expected) => {
    const before = JSON.stringify(given);
    expect(metadataOf(video, given)).toEqual(expected);
    expect(JSON.stringify(given)).toBe(before);
  });

  it.each([
    '{"__proto__": {"polluted": 1}}',
    '{"properties": {"__proto__": {"polluted": 1}}}',
    '{"constructor": {"prototype": {"polluted": 1}}}',
    '{"a": {"__proto__": null, "toString": 1}}',
  ])('leaves every other object as it is: %s', (text) => {
    const made = metadataOf(video, JSON.parse(text)) as object;
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
    expect(Object.prototype).not.toHaveProperty('polluted');
    expect(Object).not.toHaveProperty('prototype.polluted');
    // As it was given: a key like any other.
    if (text.startsWith('{"__proto__')) expect(JSON.stringify(made)).toContain('"__proto__":{"polluted":1}');
  });

  function without(name: keyof typeof own) {
    const { [name]: _, ...rest } = own;
    return rest;
  }
});
