import type { Kit, Plugin } from '../../../core/plugin/plugin.ts';
import type { FinishedRecording } from '../../../core/ports/recorder.ts';
import accounts from '../../../plugins/accounts/index.ts';
import { type AssetFile, type Assets, assets as token } from '../../../plugins/assets/contract.ts';
import assets from '../../../plugins/assets/index.ts';
import recordings from '../../../plugins/recordings/index.ts';
import { assetIdOf, folderOf } from '../../../plugins/recordings/recording.ts';
import streams from '../../../plugins/streams/index.ts';
import tasks from '../../../plugins/tasks/index.ts';
import type { ScriptedPublish } from '../../kit/scripted-media.ts';
import { scriptedTake } from '../../kit/scripted-recorder.ts';
import { type World, world } from '../../kit/world.ts';

/** The plugins that a recording needs, with assets that a test can reach, and that it can keep from answering. */
export function recordingPlugins(): { plugins: Plugin[]; assets: ReachedAssets } {
  const reached: { isDown: boolean; contract?: Assets } = { isDown: false };
  const plugin: Plugin = {
    ...(assets as unknown as Plugin),
    start(kit) {
      const provide: Kit['provide'] = (to, value) => {
        if (to.id !== token.id) return kit.provide(to, value);
        reached.contract = value as Assets;
        const guarded = new Proxy(value as object, {
          get: (object, name) => {
            if (reached.isDown) throw new Error('assets do not answer');
            return Reflect.get(object, name);
          },
        });
        kit.provide(to, guarded as typeof value);
      };
      return assets.start?.(Object.create(kit, { provide: { value: provide } }));
    },
  };
  const plugins = [accounts, streams, tasks, plugin, recordings] as unknown as Plugin[];
  return { plugins, assets: reached as ReachedAssets };
}

export interface ReachedAssets {
  isDown: boolean;
  /** What the process that began last provides. */
  readonly contract: Assets;
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
    async assetOf({ grant: { sessionId } }) {
      const { status, body } = await w.request('GET', `/api/asset/${assetIdOf(sessionId)}`);
      return status === 200 ? body : undefined;
    },
    async fileOf({ grant: { sessionId } }) {
      return (await assets.contract.find(assetIdOf(sessionId)))?.file;
    },
    async deleteAsset({ grant: { sessionId } }) {
      const answer = await w.request('DELETE', `/api/asset/${assetIdOf(sessionId)}`);
      if (answer.status !== 204) throw new Error(`the asset was not deleted: ${answer.status}`);
    },
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
      const events: string[] = (await w.events()).map(({ event }) => event);
      return events.filter((event) => !event.startsWith('task.'));
    },
  };
  // What the world tells of itself changes with a crash.
  return Object.defineProperties(own, {
    ...Object.getOwnPropertyDescriptors(w),
  }) as RecordingWorld;
}

export interface RecordingWorld extends World {
  readonly assets: ReachedAssets;
  /** What a publish became, as the API shows it. */
  // biome-ignore lint/suspicious/noExplicitAny: the asset object
  assetOf(publish: ScriptedPublish): Promise<any>;
  fileOf(publish: ScriptedPublish): Promise<AssetFile | undefined>;
  deleteAsset(publish: ScriptedPublish): Promise<void>;
  /** On the air, with a take when the publish was granted one. */
  onAir(stream: { streamKey: string }): Promise<ScriptedPublish>;
  // biome-ignore lint/suspicious/noExplicitAny: the stream object
  read(id: string): Promise<any>;
  /** Names of all events so far, without those of the task. */
  told(): Promise<string[]>;
}

export const begun = ['stream.started', 'recording.started'];
export const idle = ['stream.idle', 'recording.waiting'];
export const finished = ['asset.created', 'asset.ready', 'recording.ready'];
export const disk = new Error('the disk does not answer');
export const takeOf = ({ grant }: ScriptedPublish, more: { gaps?: number } = {}) =>
  scriptedTake({ folder: folderOf(grant.sessionId), ...more });

/** A recorded session that is over; its take is what `has` says. */
export async function over(
  w: RecordingWorld,
  has: (publish: ScriptedPublish) => FinishedRecording | Error | null,
) {
  const stream = await w.given.stream({ record: true });
  const publish = await w.onAir(stream);
  w.recorder.has(publish.grant.sessionId, has(publish));
  publish.end({ clean: true });
  await w.advance('6m');
  return { stream, publish, sessionId: publish.grant.sessionId };
}
