import { describe, expect, it } from 'vitest';
import { assetIdOf, folderOf } from '../../../plugins/recordings/recording.ts';
import { type FleetNode, fleet } from '../../kit/fleet.ts';
import { scriptedTake } from '../../kit/scripted-recorder.ts';
import { recordingPlugins, recordingWorld } from './kit.ts';

describe('the recording of a stream with renditions', () => {
  it('has those that are there for most of it; its file is the source', async () => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({ record: true });
    const publish = await w.onAir(stream);
    const { sessionId } = publish.grant;
    const folder = folderOf(sessionId);
    const renditions = { '480p': 1, '360p': 0.49, '240p': 0.5 };
    w.recorder.has(sessionId, scriptedTake({ folder, renditions }));
    // As a recorder leaves them.
    for (const name of ['video-480p', 'video-360p', 'video-240p']) {
      await w.blobs.put(`${folder}/${name}.mp4`, Buffer.alloc(500));
      await w.blobs.put(`${folder}/${name}.idx`, Buffer.alloc(10));
    }
    publish.end({ clean: true });
    await w.advance('6m');
    const file = await w.fileOf(publish);
    expect(file?.renditions).toMatchObject([
      { name: '480p', video: { key: `${folder}/video-480p.mp4` }, variant: { width: 426 } },
      { name: '240p' },
    ]);
    expect(file?.renditions?.[0]).not.toHaveProperty('share');
    // What the API shows is the source.
    const asset = await w.assetOf(publish);
    expect(asset).toMatchObject({ status: 'ready', size: 1000, hash: [{ hash: 'a'.repeat(32) }, {}] });
    expect(JSON.stringify(asset)).not.toContain('480p');
    expect(await w.read(sessionId)).toMatchObject({
      recordingUrl: `http://localhost:8080/recordings/${sessionId}/index.m3u8`,
      issues: [],
    });
    // The one that is too short goes at once.
    const keys = async () => (await w.blobs.list(`${folder}/`, { limit: 20 })).blobs.map(({ key }) => key);
    expect(await keys()).toEqual(
      ['video-240p.idx', 'video-240p.mp4', 'video-480p.idx', 'video-480p.mp4'].map(
        (key) => `${folder}/${key}`,
      ),
    );
    // The sweep leaves what belongs to the asset.
    await w.advance('4h');
    expect(await keys()).toHaveLength(4);
    await w.deleteAsset(publish);
    await w.advance('1h');
    expect(await keys()).toEqual([]);
  });

  it('is bounded with all its bytes', async () => {
    const config = { assets: { retention: { recording: { bytes: '3500B' } } } };
    await using w = await recordingWorld({ config });
    const publishes = [];
    for (const renditions of [{ '480p': 1 }, undefined]) {
      const stream = await w.given.stream({ record: true });
      const publish = await w.onAir(stream);
      const folder = folderOf(publish.grant.sessionId);
      w.recorder.has(publish.grant.sessionId, scriptedTake({ folder, ...(renditions && { renditions }) }));
      publish.end({ clean: true });
      await w.advance('6m');
      publishes.push(publish);
    }
    await w.advance('2h');
    expect(await Promise.all(publishes.map((one) => w.assetOf(one)))).toMatchObject([{}, {}]);
    // 1,620 bytes of the oldest, 510 of which its rendition takes, and twice 1,110.
    const stream = await w.given.stream({ record: true });
    const publish = await w.onAir(stream);
    publish.end({ clean: true });
    await w.advance('8h');
    const [first, ...others] = await Promise.all([...publishes, publish].map((one) => w.assetOf(one)));
    expect(first).toBeUndefined();
    expect(others).toMatchObject([{ status: 'ready' }, { status: 'ready' }]);
  });

  it('of several nodes has what the nodes together have', async () => {
    const { plugins, assets } = recordingPlugins();
    await using f = await fleet({ plugins });
    const a = await f.start('a', { roles: ['api', 'actors', 'worker'] });
    const m = await f.start('m', { roles: ['media'] });
    const n = await f.start('n', { roles: ['media'] });
    const { body: stream } = await a.request('POST', '/api/stream', { body: { name: 'A', record: true } });
    const onAir = async (
      node: FleetNode,
      take: { startedAt: number; renditions: Record<string, number> },
    ) => {
      const publish = await node.media.publish(stream.streamKey);
      publish.playable();
      await f.settle();
      const { sessionId } = publish.grant;
      node.recorder.has(sessionId, scriptedTake({ folder: folderOf(sessionId), name: node.id, ...take }));
      await f.advance('10s');
      return publish;
    };
    await onAir(m, { startedAt: 1000, renditions: { '480p': 1 } });
    const last = await onAir(n, { startedAt: 2000, renditions: { '480p': 0.9, '240p': 0.3 } });
    last.end({ clean: true });
    await f.advance('6m');
    for (let turn = 0; turn < 5; turn += 1) await f.settle();
    const { sessionId } = last.grant;
    // They have come from the other node as they are there.
    expect(
      a.recorder.joined[0]?.takes.map(({ renditions }) => renditions?.map(({ share }) => share)),
    ).toEqual([[1], [0.9, 0.3]]);
    const file = (await assets.contract.find(assetIdOf(sessionId)))?.file;
    expect(file?.renditions?.map(({ name, video }) => [name, video.key])).toEqual([
      ['480p', `${folderOf(sessionId)}/joined-480p.mp4`],
    ]);
    expect([m, n].map(({ recorder }) => recorder.dropped)).toEqual([[sessionId], [sessionId]]);
  });
});
