import type { UploadQuestion, VideoSpec } from 'millrace/plugin';
import { definePlugin } from 'millrace/plugin';
import { allPlugins, type Films, world } from 'millrace/testing';
import { expect, it } from 'vitest';

const plain = { format: 'mp4', duration: 8, bitrate: 1000 };
const wide: VideoSpec['tracks'] = [
  { type: 'video', codec: 'h264', duration: 8, bitrate: 800, width: 5120, height: 1440 },
];
const films: Films = (text) => (text === 'wide' ? { tracks: wide } : {});

it('takes in a test what the test says of a film, and else one of 640x360', async () => {
  const asked: UploadQuestion[] = [];
  const watching = definePlugin({
    id: 'watching',
    summary: 'sees uploads',
    contract: 3,
    decides: { upload: (question) => void asked.push(question) },
  });
  await using w = await world({ plugins: [...(await allPlugins()), watching], films });
  const specOf = async (text: string) => {
    const { body } = await w.request('POST', '/api/asset/request-upload', { body: { name: 'Film' } });
    const answer = await w.app.handle(new Request(body.url, { method: 'PUT', body: text }));
    expect(answer.status).toBe(200);
    await w.settle();
    const { videoSpec } = (await w.request('GET', `/api/asset/${body.asset.id}`)).body;
    expect(asked.at(-1)).toMatchObject({ stage: 'inspected', spec: videoSpec });
    return videoSpec;
  };
  expect(await specOf('wide')).toEqual({ ...plain, tracks: wide });
  expect(await specOf('another')).toMatchObject({
    ...plain,
    tracks: [{ type: 'video', width: 640, height: 360 }, { type: 'audio' }],
  });
});
