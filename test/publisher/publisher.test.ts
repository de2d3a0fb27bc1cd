import { afterEach, describe, expect, test } from 'vitest';
import { PublishRefused, publish } from '../kit/publisher/publisher.ts';
import { type Peer, rtmpPeer } from './rtmp-peer.ts';

let peer: Peer | undefined;
afterEach(() => peer?.stop());

describe('publishing', () => {
  test('says what an encoder says, then sends media in chunks of the announced size', async () => {
    peer = rtmpPeer();
    const publisher = await publish({ url: peer.url('live', 'secret-key') });
    const body = Uint8Array.from({ length: 9000 }, (_, n) => n % 256);
    publisher.sendVideo(body, 0x01000000);
    publisher.sendAudio(Uint8Array.from([0xaf, 1]), 5);
    await peer.until(() => peer?.media.length === 2);
    await publisher.close({ clean: true });
    expect(await publisher.closed).toEqual({ cause: 'closed', message: 'closed by us' });
    expect(peer.commands.map(([name]) => name)).toEqual([
      ...['connect', 'releaseStream', 'FCPublish', 'createStream', 'publish', 'FCUnpublish', 'deleteStream'],
    ]);
    expect(peer.commands[0]?.[2]).toMatchObject({ app: 'live' });
    expect(peer.commands[4]?.slice(3)).toEqual(['secret-key', 'live']);
    expect(peer.media[0]).toMatchObject({ type: 9, timestamp: 0x01000000, length: 9000 });
    expect(Buffer.compare(peer.media[0]?.body ?? body.subarray(1), body)).toBe(0);
    expect(peer.media[1]).toMatchObject({ type: 8, timestamp: 5, length: 2 });
  });

  test('without a goodbye it just vanishes', async () => {
    peer = rtmpPeer();
    const publisher = await publish({ url: peer.url('live', 'k') });
    await publisher.close({ clean: false });
    await peer.until(() => peer?.isClosed === true);
    expect(peer.commands.at(-1)?.[0]).toBe('publish');
    expect(publisher.sendAudio(new Uint8Array(3), 0)).toBe(false);
  });

  test('a refusal carries the code and never the key', async () => {
    peer = rtmpPeer({ answer: { level: 'error', code: 'NetStream.Publish.Unauthorized' } });
    const error = await publish({ url: peer.url('live', 'secret-key') }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PublishRefused);
    expect(error).toMatchObject({ code: 'NetStream.Publish.Unauthorized' });
    expect(String(error)).not.toContain('secret-key');
    peer.stop();
    peer = rtmpPeer({ answer: { level: 'error', code: 'bad secret-key' } });
    const other = await publish({ url: peer.url('live', 'secret-key') }).catch((reason: unknown) => reason);
    expect(String(other)).not.toContain('secret-key');
  });

  test.each(['a', 'Start', 'N', 'NetStream.Publish.Start'])(
    'a key that is part of a code, %s, hides nothing',
    async (key) => {
      peer = rtmpPeer();
      const publisher = await publish({ url: peer.url('live', key), timeoutMs: 2000 });
      await publisher.close({ clean: false });
      peer.stop();
      peer = rtmpPeer({ answer: { level: 'error', code: `Custom.${key}` } });
      await expect(publish({ url: peer.url('live', key) })).rejects.toMatchObject({
        code: 'NetConnection.Call.Failed',
      });
    },
  );

  test('a server that closes, is not there, or says nothing', async () => {
    peer = rtmpPeer();
    const publisher = await publish({ url: peer.url('live', 'k') });
    peer.hangUp();
    expect((await publisher.closed).cause).toBe('peer');
    const { port } = new URL(peer.url('live', 'k'));
    peer.stop();
    await expect(publish({ url: `rtmp://127.0.0.1:${port}/live/k` })).rejects.toThrow('no connection');
    peer = rtmpPeer({ isSilent: true });
    await expect(publish({ url: peer.url('live', 'k'), timeoutMs: 50 })).rejects.toThrow('in time');
    await expect(publish({ url: peer.url('live', 'k'), signal: AbortSignal.abort() })).rejects.toThrow(
      'called off',
    );
    await expect(publish({ url: 'http://127.0.0.1/live/k' })).rejects.toThrow('the app, a slash and the key');
  });

  test('pings are answered and received bytes acknowledged', async () => {
    peer = rtmpPeer({ window: 100 });
    const publisher = await publish({ url: peer.url('live', 'k') });
    // A window of less than 16 KiB counts as that.
    for (let n = 0; n < 1000; n += 1) peer.ping(0x01020304 + n);
    await peer.until(() => peer?.pongs.includes(0x01020304 + 999) === true && peer.acknowledged >= 16_384);
    await publisher.close({ clean: true });
  });

  test('a network that takes nothing fills the output up to its limit', async () => {
    peer = rtmpPeer();
    const publisher = await publish({ url: peer.url('live', 'k'), maxBuffered: 1_000_000 });
    peer.isDeaf(true);
    const body = new Uint8Array(100_000);
    let taken = 0;
    while (taken < 200 && publisher.sendVideo(body, taken)) {
      taken += 1;
      // Lets the output be written.
      await Promise.resolve();
    }
    expect(taken).toBeLessThan(200);
    expect(publisher.buffered).toBeLessThanOrEqual(1_000_000);
    peer.isDeaf(false);
    await peer.until(() => peer?.media.length === taken);
    expect(publisher.buffered).toBe(0);
    await publisher.close({ clean: true });
  });
});
