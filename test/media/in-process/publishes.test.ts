import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PublishGrant } from '../../../core/ports/media.ts';
import { inProcessMedia } from '../../../runtime/media/broadcast/in-process.ts';
import { encodeAmf0 } from '../../../runtime/media/rtmp/amf0.ts';
import { parsePlaylist } from '../../hls/checker.ts';
import { findFreePorts } from '../../kit/free-ports.ts';
import { rtmpDefaults } from '../../rtmp/kit.ts';
import { cert, key } from '../../rtmp/tls.ts';
import { grant, quiet, sendHeaders, sendMedia, station, until } from '../kit.ts';

test('a publish plays, and is closed once with its figures', async () => {
  await using s = await station();
  const encoder = await s.encoder();
  expect(s.serve('index.m3u8')).toBe(undefined);
  sendHeaders(encoder);
  sendMedia(encoder, { seconds: 5 });
  await until('the playlist', () => s.told().includes('playable t1'));
  expect((await s.serve('index.m3u8'))?.status).toBe(200);
  await until('5 s of media', () => (s.media.figures('t1')?.duration ?? 0) > 4.9);
  await encoder.close({ clean: true });
  await until('the end', () => s.told().includes('closed t1 clean'));
  expect(s.told()).toEqual(['playable t1', 'closed t1 clean']);
  const { figures } = s.facts[1];
  expect(figures.duration).toBeCloseTo(5, 0);
  expect(figures.bytes).toBeGreaterThan(10_000);
  expect(figures.segments).toBeGreaterThan(2);
  expect(figures.lastMediaAt).toBeGreaterThan(s.now() - 5000);
  expect(s.media.figures('t1')).toBe(undefined);
  const { bytes } = figures;
  expect(s.media.totals()).toEqual({ publishes: 0, outputs: 1, bytes, waitingViewers: 0, viewers: 0 });
  s.media.retire('key');
  s.media.retire('key');
  expect(s.media.totals()).toEqual({ publishes: 0, outputs: 0, bytes, waitingViewers: 0, viewers: 0 });
  expect(s.serve('index.m3u8')).toBe(undefined);
});

test('the log has a line when a broadcast starts and one when it ends, without its key', async () => {
  await using s = await station();
  const about = () =>
    s.lines.filter((line) => line.startsWith('info broadcast')).map((line) => line.replace(/[\w-]{36}/, '…'));
  const told = {
    ...{ streamId: 'stream of secret', sessionId: 'session', connection: '…', address: '127.0.0.1' },
    ...{ encoder: 'obs-output module', codecs: ['avc1.64001e', 'mp4a.40.2'] },
  };
  const onAir = async (turn: number) => {
    const encoder = await s.encoder('secret');
    encoder.sendMetadata(encodeAmf0(['onMetaData', { encoder: 'obs-output module', width: 640 }]));
    sendHeaders(encoder);
    sendMedia(encoder, { seconds: 3 });
    await until('the playlist', () => s.told().includes(`playable t${turn}`));
    await until('all media', () => (s.media.figures(`t${turn}`)?.duration ?? 0) > 2.9);
    return encoder;
  };
  const first = await onAir(1);
  expect(about()).toEqual([`info broadcast started ${JSON.stringify(told)}`]);
  await first.close({ clean: true });
  await until('the end', () => s.told().includes('closed t1 clean'));
  const { bytes } = s.facts.at(-1)?.figures ?? {};
  const end = (reason: string) =>
    `info broadcast ended ${JSON.stringify({ ...told, seconds: 3, bytes, reason })}`;
  expect(about()[1]).toBe(end('the encoder ended the broadcast'));
  const second = await onAir(2);
  await second.close({ clean: false });
  await until('the second end', () => s.told().includes('closed t2'));
  expect(about()[3]).toBe(end('the connection closed'));
  const third = await onAir(3);
  s.media.close('t3', 'The stream was suspended.');
  await third.closed;
  expect(about()[5]).toBe(end('The stream was suspended.'));
  const empty = await s.encoder('secret');
  await empty.close({ clean: true });
  await until('the empty end', () => s.told().includes('closed t4 clean'));
  expect(about()[6]).toMatch(
    /^info broadcast ended before anything could be played .*"seconds":0,"bytes":0,/,
  );
  await onAir(5);
  await s.stop();
  expect(about().slice(7)).toEqual([
    `info broadcast started ${JSON.stringify(told)}`,
    end('the server is stopping'),
  ]);
  expect(
    s.lines.filter((line) => line.includes('connection ended')).every((line) => line.startsWith('debug')),
  ).toBe(true);
});

test('the totals are of all publishes and of everybody who waits', async () => {
  await using s = await station();
  const encoders = [await s.encoder('first'), await s.encoder('second')];
  for (const encoder of encoders) {
    sendHeaders(encoder);
    sendMedia(encoder, { seconds: 5 });
  }
  await until('both playlists', () => s.told().length === 2);
  await until('all media', () => ['t1', 't2'].every((t) => (s.media.figures(t)?.duration ?? 0) > 4.9));
  const gone = new AbortController();
  const options = { signal: gone.signal, timeout: 5000 };
  const { sequence, segments } = parsePlaylist((await s.playlist('first')) ?? '');
  const query = `_HLS_msn=${sequence + segments.length + 1}`;
  const waiting = [
    s.serve('source.m3u8', { id: 'first', query, signal: gone.signal }),
    s.media.appears('other', options),
    s.media.appears('other', options),
  ];
  const bytes = ['t1', 't2'].reduce((sum, token) => sum + (s.media.figures(token)?.bytes ?? 0), 0);
  expect(s.media.totals()).toEqual({ publishes: 2, outputs: 2, bytes, waitingViewers: 3, viewers: 0 });
  gone.abort();
  await Promise.all(waiting);
  expect(s.media.totals().waitingViewers).toBe(0);
  await encoders[0].close({ clean: true });
  await until('the end of one', () => s.media.totals().publishes === 1);
  expect(s.media.totals()).toMatchObject({ outputs: 2, bytes });
});

test('an encoder that vanishes is held; it comes back to the same playlist', async () => {
  await using s = await station();
  const first = await s.encoder();
  sendHeaders(first);
  sendMedia(first, { seconds: 5 });
  await until('the playlist', () => s.told().length === 1);
  const before = parsePlaylist((await s.playlist()) ?? '');
  await first.close({ clean: false });
  await until('the end', () => s.told().length === 2);
  expect(await s.playlist()).toBeDefined();
  const second = await s.encoder();
  sendHeaders(second);
  sendMedia(second, { seconds: 3 });
  await until('the playlist', () => s.told().includes('playable t2'));
  const after = parsePlaylist((await s.playlist()) ?? '');
  expect(after.segments[0].uri).toBe(before.segments[0].uri);
  expect(after.segments.at(-1)?.discontinuities).toBe(1);
  expect(s.told()).toEqual(['playable t1', 'closed t1', 'playable t2']);
});

test('a second publisher takes over; the end of the first one changes nothing', async () => {
  await using s = await station();
  const first = await s.encoder();
  sendHeaders(first);
  sendMedia(first, { seconds: 3 });
  await until('the playlist', () => s.told().length === 1);
  const second = await s.encoder();
  sendHeaders(second);
  sendMedia(second, { seconds: 3 });
  await until('the second', () => s.told().includes('playable t2'));
  // Its arenas are gone; what it still sends goes nowhere and does no harm.
  sendMedia(first, { seconds: 3, from: 3000 });
  s.media.close('t1', 'Another broadcast took over.');
  expect((await first.closed).code).toBe('NetStream.Publish.Rejected');
  await until('the end of the first', () => s.told().includes('closed t1'));
  sendMedia(second, { seconds: 3, from: 3000 });
  await until('more of the second', () => (s.media.figures('t2')?.duration ?? 0) > 5.9);
  const [closed] = s.facts.filter((fact) => fact.type === 'closed');
  expect(closed.figures.duration).toBeCloseTo(3, 0);
  const listed = parsePlaylist((await s.playlist()) ?? '').segments;
  expect(listed.reduce((sum, segment) => sum + segment.duration, 0)).toBeGreaterThan(7);
});

test('a retire that arrives late does not end the publish that came meanwhile', async () => {
  await using s = await station();
  const first = await s.encoder();
  sendHeaders(first);
  sendMedia(first, { seconds: 3 });
  await until('the playlist', () => s.told().length === 1);
  await first.close({ clean: true });
  const second = await s.encoder();
  s.media.retire('key');
  sendHeaders(second);
  sendMedia(second, { seconds: 3 });
  await until('the second on the air', () => s.told().includes('playable t2'));
  expect(await s.playlist()).toBeDefined();
  await second.close({ clean: true });
  await until('its end', () => s.told().includes('closed t2 clean'));
  s.media.retire('key');
  expect(await s.playlist()).toBe(undefined);
});

test('a publish that is closed before it has attached never begins', async () => {
  const asked = Promise.withResolvers<void>();
  const granted = Promise.withResolvers<PublishGrant>();
  await using s = await station(() => {
    asked.resolve();
    return granted.promise;
  });
  const encoder = s.encoder();
  await asked.promise;
  s.media.close('t1', 'The stream was deleted.');
  granted.resolve(grant({ token: 't1' }));
  await expect(encoder).rejects.toThrow('NetStream.Publish.Rejected');
  expect(s.told()).toEqual(['closed t1']);
  expect(s.media.figures('t1')).toBe(undefined);
});

test('a publish that is closed between its grant and its answer ends', async () => {
  for (let turns = 0; turns < 8; turns += 1) {
    const granted = Promise.withResolvers<PublishGrant>();
    const asked = Promise.withResolvers<void>();
    await using s = await station(() => {
      asked.resolve();
      return granted.promise;
    });
    const encoder = s.encoder().then(
      ({ closed }) => closed,
      (error) => ({ code: error.code }),
    );
    await asked.promise;
    granted.resolve(grant({ token: 't1' }));
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    s.media.close('t1', 'The stream was deleted.');
    expect((await encoder).code).toBe('NetStream.Publish.Rejected');
    expect(s.told()).toEqual(['closed t1']);
  }
});

test('of two publishers of one key the one that was granted last has the output, whoever attaches last', async () => {
  const slow = Promise.withResolvers<PublishGrant>();
  const asked = Promise.withResolvers<void>();
  let count = 0;
  await using s = await station(async () => {
    count += 1;
    asked.resolve();
    return count === 1 ? slow.promise : grant({ token: 't2', turn: 2 });
  });
  const first = s.encoder();
  await asked.promise;
  const second = await s.encoder();
  sendHeaders(second);
  sendMedia(second, { seconds: 1 });
  await until('the second', () => s.told().includes('playable t2'));
  slow.resolve(grant({ token: 't1', turn: 1 }));
  await expect(first).rejects.toThrow('NetStream.Publish.Rejected');
  sendMedia(second, { seconds: 3, from: 1000 });
  await until('the second still on', () => (s.media.figures('t2')?.segments ?? 0) > 1);
  expect(s.told()).toEqual(['playable t2', 'closed t1']);
});

test('what cannot be packaged ends the publish with the reason, and only it', async () => {
  await using s = await station();
  const other = await s.encoder('other');
  const encoder = await s.encoder();
  encoder.sendVideo(Uint8Array.of(0x12, 0, 0, 0, 0, 1, 2, 3), 0);
  encoder.sendAudio(Uint8Array.of(0x2f, 1, 2, 3), 0);
  expect((await encoder.closed).code).toBe('NetStream.Publish.Rejected');
  await until('the end', () => s.told().length === 1);
  expect(s.facts[0].figures.issues).toEqual([
    'video codec Sorenson H.263 is not supported; use H.264, or AV1 or H.265 by Enhanced RTMP',
    'audio codec MP3 is not supported; use AAC, or Opus by Enhanced RTMP',
  ]);
  sendHeaders(other);
  sendMedia(other, { seconds: 1 });
  await until('the other', () => s.told().includes('playable t1'));
});

test('stop: every publish is closed, every viewer answered, no timer is left', async () => {
  const s = await station();
  const encoder = await s.encoder();
  sendHeaders(encoder);
  sendMedia(encoder, { seconds: 5 });
  await until('the playlist', () => s.told().length === 1);
  const { sequence, segments } = parsePlaylist((await s.playlist()) ?? '');
  const reload = s.serve('source.m3u8', { query: `_HLS_msn=${sequence + segments.length + 1}` });
  const appears = s.media.appears('other', { timeout: 60_000, signal: new AbortController().signal });
  await s.stop();
  expect(s.told()).toEqual(['playable t1', 'closed t1']);
  expect((await reload)?.status).toBe(404);
  expect(await appears).toBe(false);
  expect(s.serve('index.m3u8')).toBe(undefined);
  expect(['peer', 'refused']).toContain((await encoder.closed).cause);
  await expect(s.encoder()).rejects.toThrow('no connection');
  await quiet();
  expect(s.told()).toHaveLength(2);
  expect(s.timers()).toBe(0);
});

test('a port, host or certificate that cannot be used is named by its setting', async () => {
  await using s = await station();
  const folder = mkdtempSync(join(tmpdir(), 'media-'));
  const paths = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  writeFileSync(paths.cert, cert);
  writeFileSync(paths.key, key);
  const second = (rtmp: { host?: string; port: number; tlsPort?: number }) =>
    inProcessMedia({
      clock: { now: () => 0, at: () => () => undefined },
      log: undefined as never,
      rtmp: { ...rtmpDefaults, host: '127.0.0.1', ...rtmp },
      tls: paths,
      hls: { partTarget: 0.35, window: 12, waiterLimit: 1, memory: 1 },
    }).accept({ authorise: () => Promise.reject(), report: () => undefined });
  const [free, tlsPort] = await findFreePorts(2);
  await expect(second({ port: s.port })).rejects.toThrow(`Port ${s.port} (rtmp.port) is in use`);
  await expect(second({ port: free, tlsPort: s.port })).rejects.toThrow(`Port ${s.port} (rtmp.tlsPort)`);
  await expect(second({ host: '203.0.113.9', port: free })).rejects.toThrow(
    `Port ${free} on 203.0.113.9 (rtmp.port, rtmp.host) cannot be opened: EADDRNOTAVAIL`,
  );
  await expect(second({ host: 'no.such.invalid', port: free })).rejects.toThrow('not an address of this');
  writeFileSync(paths.cert, 'no certificate');
  await expect(second({ port: free, tlsPort })).rejects.toThrow('tls.cert, tls.key:');
  // The port that could be opened is let go.
  Bun.listen({ hostname: '127.0.0.1', port: free, socket: { data() {} } }).stop(true);
  rmSync(folder, { recursive: true });
});
