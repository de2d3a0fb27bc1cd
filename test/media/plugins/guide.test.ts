import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kit, Plugin, TextCue } from 'millrace/plugin';
import { expect, it } from 'vitest';
import { play, sendHeaders } from '../../hls/feed.ts';
import { TextViewer } from '../../hls/text-viewer.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { assetMaker, storeFile } from '../../kit/asset-maker.ts';
import { world } from '../../kit/world.ts';
import { indexOf } from '../../vod/film.ts';
import { watched } from './kit.ts';

const guide = readFileSync(join(import.meta.dirname, '../../../docs/plugins/media.md'), 'utf8');

/** The plugins of the guide, in their order. */
async function plugins(): Promise<Plugin[]> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-guide-'));
  const blocks = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
  const loaded = await Promise.all(
    blocks.map((code, number) => {
      const file = join(folder, `${number}.ts`);
      writeFileSync(file, code);
      return import(file) as Promise<{ default: Plugin }>;
    }),
  );
  rmSync(folder, { recursive: true });
  return loaded.map((module) => module.default);
}

/** A broadcast that the plugin sees. */
function onAir({ id, media }: Plugin, config: unknown = {}) {
  const kit = { config, log: { debug: () => {} } } as unknown as Kit;
  return watched({ [id]: (broadcast) => media?.(broadcast, kit) });
}

it('the first plugin of docs/plugins/media.md names what it says', async () => {
  const [clipCheck] = await plugins();
  const { feed, lines } = onAir(clipCheck);
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 7, gop: 90 });
  expect(sink.figures().issues).toEqual([expect.stringContaining('too far apart for clips')]);
  await play(feed, sink, { seconds: 5, from: 7000, gop: 60 });
  expect([sink.figures().issues, lines]).toEqual([[], []]);
});

it('its captions come back from a worker, and are in the playlist', async () => {
  const [, liveCaptions] = await plugins();
  const folder = mkdtempSync(join(tmpdir(), 'millrace-guide-'));
  const worker = join(folder, 'recognise.js');
  writeFileSync(
    worker,
    `onmessage = ({ data: { kind, time, bytes } }) => {
      if (kind === 'part') postMessage({ start: time + 400, end: time + 900, text: bytes.length + ' bytes' });
    };`,
  );
  const { feed, lines } = onAir(liveCaptions, { worker });
  const { sink, grant } = feed.attach();
  const viewer = new TextViewer(feed);
  sendHeaders(sink);
  const after = () => viewer.look();
  await play(feed, sink, { seconds: 3, after });
  await Bun.sleep(300);
  await play(feed, sink, { seconds: 4, from: 3000, after });
  feed.output.detach(grant.token);
  await viewer.look();
  rmSync(folder, { recursive: true });
  expect(viewer.cues.map(({ text }: Pick<TextCue, 'text'>) => text)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^\d+ bytes$/)]),
  );
  expect(lines).toEqual([]);
});

it('its subtitles of an asset are those in the blob store', async () => {
  const [, , stored] = await plugins();
  const maker = assetMaker();
  await using w = await world({ plugins: [...(await allPlugins()), maker.plugin, stored] });
  const account = (await w.given.stream()).userId as string;
  const id = '0a6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1';
  await maker.assets.begin({ id, account, name: 'Film', source: { type: 'directUpload' } });
  const index = indexOf(5);
  await w.blobs.put(`assets/${id}/index.bin`, index);
  const file = {
    ...(await storeFile(w.blobs, id)),
    index: { key: `assets/${id}/index.bin`, size: index.length },
  };
  await maker.assets.ready(id, file);
  await w.settle();
  const { playbackId } = (await w.request('GET', `/api/asset/${id}`)).body;
  const ask = async (name: string) => {
    const answer: Response = await w.app.handle(
      new Request(`http://localhost:8080/asset/${playbackId}/${name}`),
    );
    return answer.text();
  };
  expect(await ask('index.m3u8')).not.toContain('SUBTITLES');
  await w.blobs.put(`stored-subtitles/${id}.vtt`, Buffer.from('WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n'));
  expect(await ask('index.m3u8')).toContain('URI="text_en.m3u8"');
  expect(await ask('text_en.vtt')).toMatch(
    /^WEBVTT\nX-TIMESTAMP-MAP=.*\n\n00:01.000 --> 00:02.000\nHello\n$/,
  );
});
