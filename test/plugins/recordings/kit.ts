import type { Plugin } from '../../../core/plugin.ts';
import accounts from '../../../plugins/accounts/index.ts';
import recordings from '../../../plugins/recordings/index.ts';
import { assetIdOf, folderOf } from '../../../plugins/recordings/names.ts';
import streams from '../../../plugins/streams/index.ts';
import type { ScriptedPublish } from '../../kit/scripted-media.ts';
import { scriptedTake } from '../../kit/scripted-recorder.ts';
import { type StandInAssets, standInAssets } from '../../kit/stand-in-assets.ts';
import { type World, world } from '../../kit/world.ts';

/** The plugins that a recording needs, with assets that a test can look into. */
export function recordingPlugins(): { plugins: Plugin[]; assets: StandInAssets } {
  const assets = standInAssets();
  return { plugins: [accounts, streams, assets.plugin, recordings] as unknown as Plugin[], assets };
}

/** A world with these, in which whoever is recorded has a take unless a test says otherwise. */
export async function recordingWorld(
  options: { durable?: boolean; config?: Record<string, unknown>; more?: readonly unknown[] } = {},
): Promise<RecordingWorld> {
  const { plugins, assets } = recordingPlugins();
  const { more = [], ...rest } = options;
  const w = await world({ plugins: [...plugins, ...(more as Plugin[])], ...rest });
  const own: Omit<RecordingWorld, keyof World> = {
    assets,
    assetOf: (publish) => assets.get(assetIdOf(publish.grant.sessionId)),
    async onAir(stream) {
      const publish = await w.given.broadcast(stream);
      const { sessionId, recording } = publish.grant;
      if (recording) w.recorder.has(sessionId, scriptedTake({ folder: folderOf(sessionId) }));
      return publish;
    },
    async read(id) {
      return (await w.request('GET', `/api/stream/${id}`)).body;
    },
    async told() {
      return (await w.events()).map(({ event }) => event);
    },
  };
  // What the world tells of itself changes with a crash.
  return Object.defineProperties(own, {
    ...Object.getOwnPropertyDescriptors(w),
  }) as RecordingWorld;
}

export interface RecordingWorld extends World {
  readonly assets: StandInAssets;
  assetOf(publish: ScriptedPublish): ReturnType<StandInAssets['get']>;
  /** On the air, with a take when the publish was granted one. */
  onAir(stream: { streamKey: string }): Promise<ScriptedPublish>;
  // biome-ignore lint/suspicious/noExplicitAny: the stream object
  read(id: string): Promise<any>;
  /** Names of all events so far. */
  told(): Promise<string[]>;
}
