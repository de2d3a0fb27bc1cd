import { expect } from 'vitest';
import { definePlugin, type Plugin } from '../../../core/plugin/plugin.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { type World, world } from '../../kit/world.ts';

const shipped = await allPlugins();

/** A plugin as somebody else writes it, who made a mistake. */
export function broken(more: Partial<Plugin>, id = 'broken'): Plugin {
  return definePlugin({ id, summary: 'is broken', ...more });
}

/** All that ships, and these. */
export function worldWith(
  plugins: readonly Plugin[],
  options: Omit<Parameters<typeof world>[0], 'plugins'> = {},
): Promise<World> {
  return world({ ...options, plugins: [...shipped, ...plugins] });
}

/** Fails unless the main work of the program goes on: a stream is made, a broadcast of it plays, clients hear of it. */
export async function expectTheRestToWork(
  w: World,
  { hasPlayback = true }: { hasPlayback?: boolean } = {},
): Promise<void> {
  const stream = await w.given.stream({ name: 'The rest' });
  const publish = await w.given.broadcast(stream);
  const shown = await w.request('GET', `/api/stream/${stream.id}`);
  expect([shown.status, shown.body.isActive]).toEqual([200, true]);
  const playback = await w.request('GET', `/api/playback/${stream.playbackId}`, { key: null });
  if (hasPlayback)
    expect([playback.status, playback.body.type, playback.body.meta?.live]).toEqual([200, 'live', 1]);
  else expect([playback.status, playback.body.code]).toEqual([503, 'plugin.failed']);
  const list = await w.request('GET', '/api/stream');
  expect(list.body.map(({ id }: { id: string }) => id)).toContain(stream.id);
  const started = (await w.events()).filter(
    ({ event, stream: { id } }) => event === 'stream.started' && id === stream.id,
  );
  expect(started).toHaveLength(1);
  publish.end({ clean: true });
  await w.settle();
}

/** What operators are told at `/health/ready`. */
export async function issuesOf(w: World): Promise<readonly string[]> {
  const { status, body } = await w.request('GET', '/health/ready', { key: null });
  expect([status, body.status]).toEqual([200, 'ready']);
  return body.issues ?? [];
}

export async function metricsOf(w: World): Promise<string> {
  return (await w.app.handle(new Request('http://localhost:8080/metrics'))).text();
}

/** Lines of the log about this plugin, of this level and above. */
export function errorsOf(w: World, id = 'broken'): { message: string; [name: string]: unknown }[] {
  return w.lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ level, plugin }) => (level === 'error' || level === 'warn') && plugin === id);
}
