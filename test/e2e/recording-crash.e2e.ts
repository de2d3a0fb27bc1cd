import { expect, test } from 'vitest';
import { type Numbered, numbered, watch } from './harness/numbered.ts';
import {
  type Asset,
  decode,
  download,
  expectWhole,
  leftovers,
  listAssets,
  readSession,
} from './harness/recorded.ts';
import { type Server, startServer } from './harness/server.ts';
import { lasting, until } from './harness/wait.ts';

/** What a crash may take of what was live, ms. */
const lost = 1000;

test.concurrent('kill -9 while recording and in the window: what was there a second before is in the recording', async () => {
  await using server = await startServer({
    // Both count from the last sign of the process that was killed, and a busy machine starts the next one slowly.
    env: { MILLRACE_PLUGINS__STREAMS__HOLD: '30s', MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '30s' },
  });
  await using witness = readyWitness(server);
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: 'survivor', record: true });
  const expectEvent = (name: string) => events.expect(name, { within: 60_000, streamId: stream.id });
  const started = expectEvent('stream.started');
  await using encoder = numbered(server.ingestUrl(stream.streamKey));
  await started;
  const [{ id: session }] = await server.api.listSessions(stream.id);
  witness.sessions.push(session);

  /** What must be in the recording: of each connection up to this number, at least. */
  const kept: number[] = [];
  for (let round = 0; round < 2; round += 1) {
    await using viewer = await watch(server.playlistUrl(stream.playbackId));
    await viewer.moves({ within: 20_000 });
    await lasting(3000 + Math.random() * 1500);
    await server.kill();
    kept.push(viewer.seen({ ago: lost }));
    await server.restart();
    expect(kept[round]).toBeGreaterThan(encoder.firsts[round] + 30);
  }
  await using viewer = await watch(server.playlistUrl(stream.playbackId));
  await viewer.moves({ within: 20_000 });
  const waiting = expectEvent('recording.waiting');
  await encoder.stop();
  await waiting;
  // Less what is too short for a segment.
  kept.push(encoder.sent - 8);

  await lasting(lost);
  // In the window, twice: it is as long as it was, and ends while nobody runs.
  const ready = expectEvent('recording.ready');
  await server.kill();
  await server.restart();
  expect((await readSession(server, session)).recordingStatus).toBe('waiting');
  await lasting(2000);
  await server.kill();
  await lasting(27_000);
  await server.restart();
  await ready;

  const [asset, ...others] = await listAssets(server);
  expect(others).toEqual([]);
  const { session: shown, runs, pictures } = await download(server, { id: session, asset });
  expectKept(runs, { encoder, kept });
  expect(await decode(shown.mp4Url)).toEqual({ pictures, complaints: '' });
  expect((await server.api.listSessions(stream.id)).map(({ id }) => id)).toEqual([session]);
  const told = new Map(events.seen.map((event) => [event.id, event.event]));
  const names = [...told.values()].filter((name) => /^(stream\.(started|idle)|recording\.)/.test(name));
  expect(names.join(' ')).toBe(
    'stream.started recording.started stream.idle recording.waiting recording.ready',
  );
  await until('nothing to be left', async () => isNothing(await leftovers(server, [asset])), {
    within: 10_000,
  });
  witness.check();
}, 180_000);

test.concurrent('kill -9 while finishing: every recording becomes ready once, whole, and nothing is left behind', async () => {
  await using server = await startServer({
    env: { MILLRACE_PLUGINS__STREAMS__HOLD: '1s', MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '2s' },
  });
  await using witness = readyWitness(server);
  const events = await server.openEvents();
  const record = async (name: string) => {
    const { id, streamKey } = await server.api.createStream({ name, record: true });
    // Some 7 MB in 2 s: there is something to hash.
    const encoder = numbered(server.ingestUrl(streamKey), { speed: 4, padding: 30_000 });
    const session = await until('a session', async () => (await server.api.listSessions(id))[0]?.id, {
      within: 20_000,
    });
    witness.sessions.push(session);
    await lasting(2000);
    await encoder.stop();
    expect(encoder.ends).toEqual([]);
    return { id, session, sent: encoder.sent };
  };
  const assetOf = async (session: string) =>
    (await listAssets(server)).find(({ source }) => source.sessionId === session);

  // Of each pair one is killed while it is finished, and once more while that goes on. The last is deleted meanwhile.
  const takes: Awaited<ReturnType<typeof record>>[] = [];
  let unwanted = '';
  let caught = 0;
  for (let round = 0; round < 5; round += 1) {
    const pair = await Promise.all([record(`take ${round}a`), record(`take ${round}b`)]);
    const asset = await until('an asset', () => assetOf(pair[1].session), { within: 20_000, every: 5 });
    if (round < 4) takes.push(...pair);
    else {
      takes.push(pair[0]);
      unwanted = pair[1].session;
      expect((await server.api.request('DELETE', `/api/asset/${asset.id}`)).status).toBe(204);
    }
    await lasting(Math.random() * 100);
    caught += (await listAssets(server)).filter(({ status }) => status === 'waiting').length;
    await server.kill();
    const rising = server.restart().catch(() => {});
    await lasting(200 + Math.random() * 800);
    await server.kill();
    await rising;
    await server.restart();
  }
  // Else nothing was tested.
  expect(caught).toBeGreaterThan(0);
  const readies = (streamId: string) => {
    const own = events.seen.filter(
      ({ event, stream }) => event === 'recording.ready' && stream?.id === streamId,
    );
    return new Set(own.map(({ id }) => id)).size;
  };
  await until('all of them', () => takes.every(({ id }) => readies(id) > 0), { within: 60_000 });

  const assets = await listAssets(server);
  const recorded = assets.map(({ source }) => source.sessionId);
  expect(recorded.toSorted()).toEqual(takes.map(({ session }) => session).toSorted());
  for (const { session, id, sent } of takes) {
    const asset = assets.find(({ source }) => source.sessionId === session) as Asset;
    const { session: shown, runs, pictures } = await download(server, { id: session, asset });
    expectWhole(runs, { sent });
    expect(await decode(shown.mp4Url)).toEqual({ pictures, complaints: '' });
    expect(readies(id)).toBe(1);
  }
  expect(await readSession(server, unwanted)).not.toHaveProperty('mp4Url');
  await until('nothing to be left', async () => isNothing(await leftovers(server, assets)), {
    within: 10_000,
  });

  witness.check();
  // What is deleted is shown no more, but not at one and the same moment.
  witness.sessions.length = 0;
  // An acknowledged delete goes on after a death.
  const kept = [...assets];
  for (let round = 0; round < 3; round += 1) {
    const { id } = kept.pop() as Asset;
    expect((await server.api.request('DELETE', `/api/asset/${id}`)).status).toBe(204);
    await server.kill();
    await server.restart();
    await until('its file to go', async () => isNothing(await leftovers(server, kept)), { within: 10_000 });
    expect((await server.api.request('GET', `/api/asset/${id}`)).status).toBe(404);
  }
  for (const asset of kept) await download(server, { id: asset.source.sessionId, asset });
}, 180_000);

/** Of each connection the recording has one run, from its key frame up to what is known to be there, at least. */
function expectKept(
  runs: readonly [number, number][],
  { encoder, kept }: { encoder: Numbered; kept: readonly number[] },
): void {
  expect(runs).toHaveLength(kept.length);
  for (const [n, [first, last]] of runs.entries()) {
    expect(encoder.firsts).toContain(first);
    expect(first).toBeLessThan(kept[n]);
    expect(last).toBeGreaterThanOrEqual(kept[n]);
  }
}

/**
 * Asks for recordings as clients do, all the time, and downloads each that is shown as ready in any way. What is shown once
 * stays as it is.
 */
function readyWitness(server: Server): AsyncDisposable & { readonly sessions: string[]; check(): void } {
  const sessions: string[] = [];
  const problems: unknown[] = [];
  /** Those that were seen whole, and by which process. */
  const whole = new Map<string, number>();
  let isLeaving = false;
  let looks = 0;
  const look = async (id: string) => {
    const life = server.pid;
    if (whole.get(id) === life) return;
    try {
      const early = await fetch(`${server.url}/recordings/${id}/source.mp4`, { method: 'HEAD' });
      const session = await readSession(server, id);
      const asset = (await listAssets(server)).find(({ source }) => source.sessionId === id);
      looks += 1;
      const isShown = [early.status === 200, session.recordingStatus === 'ready', asset?.status === 'ready'];
      if (!isShown.includes(true)) return;
      // The last to be told may have been asked first.
      if (asset?.status !== 'ready') throw new Error(`ready without its asset: ${JSON.stringify(session)}`);
      if (session.recordingStatus === 'ready') await download(server, { id, asset });
      if (session.recordingStatus === 'ready') whole.set(id, life);
    } catch (error) {
      // Whoever asks a server that dies, or one that starts, has no answer. A wrong one is another matter.
      const isDeath = /ECONN|Unable to connect|socket|closed|fetch failed|The operation|503/.test(
        String(error),
      );
      const isDeleted = /session.*404|404.*source/.test(String(error));
      if (!isDeath && !isDeleted) problems.push(error);
    }
  };
  const run = async () => {
    while (!isLeaving) {
      for (const id of sessions) await look(id);
      await lasting(100);
    }
  };
  const running = run();
  return {
    sessions,
    check() {
      expect(problems).toEqual([]);
      expect(looks).toBeGreaterThan(10);
    },
    async [Symbol.asyncDispose]() {
      isLeaving = true;
      await running;
    },
  };
}

function isNothing(left: readonly string[]): boolean {
  if (left.length > 0) throw new Error(left.join(', '));
  return true;
}
