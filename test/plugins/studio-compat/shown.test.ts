import { describe, expect, it } from 'vitest';
import { assetShown, keyShown, taskShown } from '../../../plugins/studio-compat/shown.ts';
import { put } from '../uploads/kit.ts';
import { api, studioWorld } from './kit.ts';

describe('objects in the form of Livepeer Studio', () => {
  it('have types of tasks and sources that its clients take', () => {
    const status = { phase: 'completed', updatedAt: 1, progress: 1 };
    const imported = { id: 't', type: 'import', status, params: { import: { url: 'https://a.test/' } } };
    const output = { import: { assetSpec: { name: 'A' }, videoFilePath: 'x' } };
    expect(taskShown({ ...imported, output })).toEqual({
      ...{ id: 't', type: 'upload', status, params: { upload: { url: 'https://a.test/' } } },
      output: { upload: { videoFilePath: 'x' } },
    });
    const profile = { name: 'p', bitrate: 1 };
    expect(taskShown({ type: 'transcode', status, params: { transcode: { profile } } })).toMatchObject({
      ...{ type: 'transcode-file', params: { 'transcode-file': { profiles: [profile] } } },
    });
    const asset = { id: 'a', status: 'failed', statusMessage: 'No media.', updatedAt: 2 };
    const source = { type: 'transcode', inputAssetId: 'b' };
    expect(assetShown({ ...asset, source })).toMatchObject({
      source: { type: 'directUpload', assetId: 'b' },
      status: { phase: 'failed', updatedAt: 2, errorMessage: 'No media.' },
    });
    expect(keyShown({ id: 'k', jwksUrl: 'https://a.test/' })).toMatchObject({ publicKey: '' });
  });

  it('show a policy by its name there, and keep the creator in lists of our own', async () => {
    await using w = await studioWorld();
    const allowedOrigins = ['https://www.example.com'];
    const given = { name: 'S', creatorId: 'user-7', playbackPolicy: { type: 'jwt', allowedOrigins } };
    const { body } = await w.request('POST', `${api}/stream`, { body: given });
    expect(body.playbackPolicy).toEqual({ type: 'jwt', allowedOrigins });
    const own = await w.request('GET', '/api/stream?filters=[{"id":"creatorId","value":"user-7"}]');
    expect(own.body).toMatchObject([{ id: body.id, playbackPolicy: { type: 'signed', allowedOrigins } }]);
    const open = { playbackPolicy: { type: 'public', allowedOrigins: ['*'] }, creatorId: null };
    expect((await w.request('PATCH', `${api}/stream/${body.id}`, { body: open })).status).toBe(204);
    const { body: now } = await w.request('GET', `${api}/stream/${body.id}`);
    expect([now.playbackPolicy, now.creatorId]).toEqual([{ type: 'public' }, undefined]);
  });

  it('of uploads and transcodes are those of our own routes', async () => {
    await using w = await studioWorld();
    const { body } = await w.request('POST', `${api}/asset/request-upload`, { body: { name: 'A' } });
    expect((await put(w, body.url)).status).toBe(200);
    const ready = (await w.request('GET', `${api}/asset/${body.asset.id}`)).body;
    expect(ready).toMatchObject({ type: 'video', status: { phase: 'ready' } });
    const profile = { name: 'p', width: 320, height: 180, bitrate: 100_000, fps: 0 };
    const made = await w.request('POST', `${api}/asset/transcode`, {
      body: { assetId: body.asset.id, name: 'B', profile },
    });
    expect([made.status, made.body.asset.name, made.body.task.type]).toEqual([201, 'B', 'transcode-file']);
    const { body: gone } = await w.request('GET', `${api}/playback/${body.asset.playbackId}`, { key: null });
    expect(gone).toMatchObject({ type: 'vod' });
    await w.advance('1m');
  });
});
