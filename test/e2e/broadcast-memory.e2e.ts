import { test } from 'vitest';
import { AAC_48000_STEREO, AVC_360P, audioHeader, frame, videoHeader } from '../hls/feed.ts';
import { type Publisher, publish } from '../kit/publisher/publisher.ts';
import { resident } from './harness/memory.ts';
import { startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

const MB = 1e6;
const broadcasts = 10;
/** Of each broadcast: 12 s of 6 Mb/s, about what a playlist lists. */
const [seconds, fps, pictureBytes] = [12, 30, 25_000];

test('what broadcasts held goes back to the system when they end, round after round', async () => {
  await using server = await startServer({
    // As `npm start` sets them, but for a delay that a test can wait for. No garbage collection is forced.
    env: { MIMALLOC_PURGE_DELAY: '200', MIMALLOC_PURGE_HOLES: '0' },
  });
  const streams = await Promise.all(
    Array.from({ length: broadcasts }, (_, i) => server.api.createStream({ name: `${i}` })),
  );
  const idle = resident(server.pid);
  for (let round = 1; round <= 2; round += 1) {
    const publishers = await Promise.all(
      streams.map(({ streamKey }) => publish({ url: server.ingestUrl(streamKey) })),
    );
    await Promise.all(publishers.map(send));
    const onAir = await until(
      'all media to be held',
      () => {
        const bytes = resident(server.pid);
        return bytes - idle > broadcasts * seconds * fps * pictureBytes * 0.8 && bytes;
      },
      { within: 10_000 },
    );
    await Promise.all(publishers.map((publisher) => publisher.close({ clean: true })));
    const left = () => resident(server.pid) - idle;
    await until(
      `what is left of the ${mb(onAir - idle)} of round ${round} to be at most 60 MB`,
      () => {
        if (left() > 60 * MB) throw new Error(mb(left()));
        return true;
      },
      { within: 8000 },
    );
  }
});

const mb = (bytes: number) => `${(bytes / MB).toFixed(0)} MB`;

async function send(publisher: Publisher): Promise<void> {
  publisher.sendVideo(videoHeader(AVC_360P), 0);
  publisher.sendAudio(audioHeader(AAC_48000_STEREO), 0);
  for (let i = 0; i < seconds * fps; i += 1) {
    const body = frame({ isKey: i % 60 === 0, size: pictureBytes });
    while (!publisher.sendVideo(body, Math.round((i * 1000) / fps))) await Bun.sleep(5);
  }
  await until('all media to be sent', () => publisher.buffered === 0, { within: 10_000 });
}
