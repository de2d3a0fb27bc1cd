import { expect, it } from 'vitest';
import { cidr } from '../../../core/base/cidr.ts';
import type { PushFact } from '../../../core/ports/pusher.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { NodePusher } from '../../../runtime/media/push/pusher.ts';
import { rtmpPush } from '../../../runtime/media/push/rtmp-push.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { grant, sendHeaders, sendMedia, station, until } from '../kit.ts';
import { pushSettings } from './stage.ts';

it('brings a broadcast to another server, by RTMP over real sockets, and says goodbye', async () => {
  await using far = await station();
  const clock = systemClock();
  const facts: PushFact[] = [];
  const open = rtmpPush({ clock, log: silentLog, allow: [cidr('127.0.0.0/8')].flatMap((one) => one ?? []) });
  const pusher = new NodePusher({
    ...{ clock, log: silentLog, random: Math.random },
    open: { rtmp: open, rtmps: open, srt: open },
    settings: pushSettings,
  });
  pusher.tell((fact) => facts.push(fact));
  const near = await station(async ({ key }) => grant({ token: 'near', playbackId: key }), { pusher });
  const encoder = await near.encoder('key');
  sendHeaders(encoder);
  await until('the publish', () => near.media.totals().publishes === 1);
  pusher.want('key', [{ id: 'far', url: `rtmp://127.0.0.1:${far.port}/live/there`, videoOnly: false }]);
  await until('a yes', () => pusher.readings()[0]?.state === 'waiting');
  sendMedia(encoder, { seconds: 8 });
  await until('media on the far side', () => far.told().includes('playable t1'));
  expect(facts.map(({ type }) => type)).toEqual(['connected']);
  const master = await (await far.serve('index.m3u8', { id: 'there' }))?.text();
  expect(master).toContain('CODECS="avc1.64001e,mp4a.40.2"');
  expect(master).toContain('RESOLUTION=640x360');

  await encoder.close({ clean: true });
  await until('the end here', () => near.told().includes('closed near clean'));
  await until('all bytes sent', () => pusher.readings()[0]?.queuedBytes === 0);
  expect(facts).toHaveLength(1);
  near.media.retire('key');
  await until('the goodbye', () => far.told().includes('closed t1 clean'));
  expect(facts.map(({ type }) => type)).toEqual(['connected', 'ended']);
  // Every byte of media arrived, and nothing twice.
  const bytes = [near, far].map(({ facts }) => facts.find(({ type }) => type === 'closed')?.figures.bytes);
  expect(bytes[1]).toBe(bytes[0]);
  expect(pusher.totals()).toMatchObject({ connected: 0, connecting: 0, droppedFrames: 0, troubles: {} });
  await near.stop();
});
