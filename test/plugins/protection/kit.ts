/** What the tests of private playback share. */
import { createPrivateKey, sign } from 'node:crypto';
import { uuid } from '../../../core/base/ids.ts';
import type { LiveAnswer } from '../../../core/ports/media.ts';
import { assetIdOf } from '../../../plugins/recordings/recording.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { assetMaker } from '../../kit/asset-maker.ts';
import { type World, world } from '../../kit/world.ts';
import { givenFilm } from '../../vod/film.ts';

export const playlist = [
  '#EXTM3U',
  '#EXT-X-MAP:URI="abcdef012345_init0.mp4"',
  '#EXTINF:2.00000,',
  'abcdef012345_seg7.mp4',
  '',
].join('\n');
export const variants = [
  '#EXTM3U',
  '#EXT-X-STREAM-INF:BANDWIDTH=2,RESOLUTION=1920x1080',
  'source.m3u8',
  '#EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=640x360',
  'r1.m3u8',
  '',
].join('\n');

/** What the media of a node has of every live stream. */
export function liveFile({ file }: { readonly file: string }): LiveAnswer {
  if (file === 'index.m3u8') return { type: 'playlist', body: variants, maxAge: 1 };
  if (file.endsWith('.m3u8')) return { type: 'playlist', body: playlist, maxAge: 1 };
  return { type: 'media', body: new Blob(['part']), size: 4 };
}

export interface Key {
  readonly id: string;
  readonly privateKey: string;
  readonly algorithm: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** A token that a customer makes with one of its signing keys. */
export function tokenOf(
  { id, privateKey, algorithm }: Omit<Key, 'createdAt'>,
  claims: Record<string, unknown>,
): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: algorithm, kid: id, typ: 'JWT' })}.${part(claims)}`;
  const dsaEncoding = 'ieee-p1363' as const;
  const mac = sign('sha256', Buffer.from(signed), { key: createPrivateKey(privateKey), dsaEncoding });
  return `${signed}.${mac.toString('base64url')}`;
}

/** A server with a live stream, an asset and a recording of one account, and a signing key. */
export async function vault(
  options: Partial<Parameters<typeof world>[0]> & { policy?: Record<string, unknown> | null } = {},
) {
  const { policy = { type: 'signed' }, ...rest } = options;
  const maker = assetMaker();
  const w = await world({ plugins: [...(await allPlugins()), maker.plugin], ...rest });
  w.media.serve = liveFile;
  const stream = await w.given.stream({ name: 'Live', record: true, playbackPolicy: policy });
  const { grant } = await w.given.broadcast(stream);
  const { userId: account } = stream;
  const made = async (id: string, source: Parameters<typeof maker.assets.begin>[0]['source']) => {
    await maker.assets.begin({ id, account, name: 'Film', source });
    const { bytes: _, ...file } = await givenFilm(w.blobs, { id });
    await maker.assets.ready(id, file);
    await w.settle();
    return (await maker.assets.find(id))!;
  };
  const asset = await made(uuid(), { type: 'directUpload' });
  await w.request('PATCH', `/api/asset/${asset.id}`, { body: { playbackPolicy: policy } });
  const recording = await made(assetIdOf(grant.sessionId), { type: 'recording', sessionId: grant.sessionId });
  const key: Key = (await w.request('POST', '/api/signing-key', { body: {} })).body;
  const now = Math.floor(w.now() / 1000);
  return { w, account, stream, sessionId: grant.sessionId, asset, recording, key, now };
}

/** A viewer's GET, whatever it is answered with. */
export async function view(w: World, path: string, headers: Record<string, string> = {}) {
  const request = Object.assign(new Request(`http://localhost:8080${path}`, { headers }), {
    peer: '203.0.113.7',
  });
  const answer = await w.app.handle(request);
  const text = await answer.text();
  await w.settle();
  return { status: answer.status, headers: answer.headers, text };
}

/** The path with a query. */
export function withToken(path: string, token: string | undefined): string {
  return token === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}token=${token}`;
}
