/** Two streams that are pushed to each other. */
import { expect, test } from 'vitest';
import { numbered, watch } from '../e2e/harness/numbered.ts';
import { startServer } from '../e2e/harness/server.ts';
import { lasting } from '../e2e/harness/wait.ts';
import { plain, targetsOf } from './targets.ts';

test('a ring of two streams: the encoder keeps its key, and both play', async () => {
  await using server = await startServer();
  const events = await server.openEvents();
  const targets = targetsOf(server, events);
  const first = await targets.createStream('first', []);
  const second = await targets.createStream('second', []);
  const onward = await targets.create('onward', { url: server.ingestUrl(second.streamKey) });
  const back = await targets.create('back', { url: server.ingestUrl(first.streamKey) });
  await targets.set(first, [onward]);
  await targets.set(second, [back]);

  await using encoder = numbered(server.ingestUrl(first.streamKey));
  await targets.ends(onward, ['connected']);
  await targets.ends(back, ['error']);
  await using source = await watch(server.playlistUrl(first.playbackId));
  await using copy = await watch(server.playlistUrl(second.playbackId));
  // Time for more attempts.
  await lasting(5000);
  for (const viewer of [source, copy]) await viewer.moves({ within: 10_000 });
  expect([encoder.ends, encoder.firsts, source.problems, copy.problems]).toEqual([[], [0], [], []]);
  expect(plain(targets.told(onward))).toEqual(['connected']);
  expect(targets.told(back)).toEqual([
    expect.stringMatching(/^error: .*NetStream\.Publish\.Rejected.*nothing else is streaming/),
  ]);
  const shown = await (await server.api.request('GET', `/api/stream/${second.id}`)).json();
  expect(shown).toMatchObject({ isActive: true, isHealthy: true });
  expect((shown as { issues: string[] }).issues).toEqual([expect.stringContaining('back')]);

  await encoder.stop();
  await targets.ends(onward, ['disconnected']);
}, 90_000);
