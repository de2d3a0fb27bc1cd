import { assign, emit, setup } from 'xstate';
import { job } from './job.ts';

/** Wait after a failed attempt to erase the blobs of a deleted asset, ms. */
const trouble = 10 * 60_000;
/** How long a deleted asset is kept, so that a file that comes late is erased, ms. */
const remembered = 7 * 24 * 3_600_000;

/**
 * An asset (a stored film). Its file is expected (`waiting`), available (`ready`), or could not be obtained (`failed`).
 * One actor per asset, until all files of the deleted asset are erased. `isAsSeen`: the asset is as it was when its deletion
 * was decided.
 *
 *   waiting ──ready──▶ ready          any ──delete──▶ erasing ──▶ erased ──7 days──▶ forgotten
 *      ├────fail─────▶ failed ──ready──▶ ready            ▲──ready (too late)──┘
 *      └◀─── await ──────┘
 *
 * Deleted is final: a file that comes afterwards is erased.
 */
export const assetMachine = setup({
  types: {
    context: {} as AssetContext,
    events: {} as AssetEvent,
    emitted: {} as AssetEmitted,
    input: {} as AssetSettings,
  },
  actors: { 'asset.erase': job<Erasure, null>() },
  delays: { trouble, remembered },
  guards: {
    // The caller found an asset that ended then; a file may have come since.
    isAsSeen: ({ context, event }) =>
      event.type === 'delete' && (event.endedAt === undefined || event.endedAt === endedAt(context)),
    isTooLate: ({ event }) => event.type === 'ready' && event.isFirst === true,
    isAnother: ({ context, event }) =>
      event.type === 'ready' && JSON.stringify(context.file) !== JSON.stringify(event.file),
    changes: ({ context: { asset }, event }) =>
      event.type === 'change' &&
      JSON.stringify(changed(asset, event.changes)) !== JSON.stringify(changed(asset, {})),
  },
  actions: {
    takeFile: assign(({ event }) =>
      event.type === 'ready'
        ? { file: event.file, fileAt: event.at, statusMessage: null, updatedAt: event.at }
        : {},
    ),
    takeFailure: assign(({ event }) =>
      event.type === 'fail' ? { statusMessage: event.message, updatedAt: event.at } : {},
    ),
    awaitAnew: assign(({ event }) => ({ statusMessage: null, updatedAt: event.at })),
    takeChanges: assign(({ context, event }) =>
      event.type === 'change' ? { asset: changed(context.asset, event.changes), updatedAt: event.at } : {},
    ),
    // XState ignores events without any action.
    leaveAsIs: assign({}),
    emitCreated: emit({ type: 'asset.created' }),
    emitUpdated: emit({ type: 'asset.updated' }),
    emitReady: emit({ type: 'asset.ready' }),
    emitFailed: emit({ type: 'asset.failed' }),
    emitDeleted: emit({ type: 'asset.deleted' }),
  },
}).createMachine({
  id: 'asset',
  context: ({ input }) => ({
    asset: input,
    updatedAt: input ? input.createdAt : 0,
    file: null,
    fileAt: 0,
    statusMessage: null,
  }),
  entry: 'emitCreated',
  initial: 'kept',
  states: {
    kept: {
      initial: 'waiting',
      on: {
        // A change without effect is accepted, and emits nothing.
        change: [{ guard: 'changes', actions: ['takeChanges', 'emitUpdated'] }, { actions: 'leaveAsIs' }],
        delete: { guard: 'isAsSeen', target: 'erasing', actions: 'emitDeleted' },
      },
      states: {
        waiting: {
          on: {
            await: { actions: 'leaveAsIs' },
            ready: { target: 'ready', actions: ['takeFile', 'emitReady'] },
            fail: { target: 'failed', actions: ['takeFailure', 'emitFailed'] },
          },
        },
        ready: {
          on: {
            // The maker may repeat itself: the last file counts, unless it is the first of another maker.
            ready: [
              { guard: 'isTooLate', actions: 'leaveAsIs' },
              { guard: 'isAnother', actions: ['takeFile', 'emitUpdated'] },
              { actions: 'leaveAsIs' },
            ],
          },
        },
        failed: {
          on: {
            ready: { target: 'ready', actions: ['takeFile', 'emitReady'] },
            fail: { actions: 'takeFailure' },
            await: { target: 'waiting', actions: ['awaitAnew', 'emitUpdated'] },
          },
        },
      },
    },
    erasing: {
      // A file that comes now is erased too: the job starts again, because it may have missed it.
      on: { ready: { target: 'erasing', reenter: true } },
      invoke: {
        id: 'erase',
        src: 'asset.erase',
        input: ({ context: { asset } }) => ({ id: asset.id }),
        onDone: 'erased',
        onError: 'troubled',
      },
    },
    troubled: {
      after: { trouble: 'erasing' },
      on: { ready: 'erasing' },
    },
    erased: {
      after: { remembered: 'forgotten' },
      on: { ready: 'erasing' },
    },
    forgotten: { type: 'final' },
  },
});

/** `fields`: only what is named in them changes. */
function changed(asset: AssetSettings, { fields: named = {}, ...changes }: AssetChanges): AssetSettings {
  const fields = { ...asset.fields };
  for (const [plugin, values] of Object.entries(named)) fields[plugin] = { ...fields[plugin], ...values };
  const { name, userTags } = asset;
  return { ...asset, name, userTags, ...changes, fields };
}

/** What its maker decides. */
export interface AssetSettings {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly playbackId: string;
  readonly source:
    | { readonly type: 'recording'; readonly sessionId: string }
    | { readonly type: 'directUpload' }
    /** `url`: without possible secrets. */
    | { readonly type: 'url'; readonly url: string }
    | { readonly type: 'transcode'; readonly inputAssetId: string };
  readonly createdByTokenName: string | null;
  readonly userTags: Readonly<Record<string, unknown>>;
  /** Values of fields that other plugins own: plugin → field → value. Older assets have none. */
  readonly fields?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Epoch ms. */
  readonly createdAt: number;
}

type AssetChanges = Partial<Pick<AssetSettings, 'name' | 'userTags' | 'fields'>>;

export interface AssetContext {
  readonly asset: AssetSettings;
  /** Epoch ms. */
  readonly updatedAt: number;
  readonly file: File | null;
  /** When that came, epoch ms. */
  readonly fileAt: number;
  /** Why it failed. */
  readonly statusMessage: string | null;
}

/** The blobs of an asset, all below its folder; plain JSON. `spec`: `videoSpec` as it is shown. */
interface File {
  readonly video: {
    readonly key: string;
    readonly size: number;
    readonly md5: string;
    readonly sha256: string;
  };
  readonly head?: { readonly key: string; readonly size: number; readonly from: number; readonly to: number };
  readonly index?: { readonly key: string; readonly size: number };
  /** Each with `video` and `index`. */
  readonly renditions?: readonly object[];
  /** JSON, beside the video. */
  readonly metadata?: { readonly key: string; readonly size: number };
  readonly spec: object;
}

/** When its file came or failed, epoch ms; undefined while it is awaited. */
export function endedAt(asset: {
  readonly file: object | null;
  readonly fileAt: number;
  readonly statusMessage: string | null;
  readonly updatedAt: number;
}): number | undefined {
  if (asset.file) return asset.fileAt;
  return asset.statusMessage === null ? undefined : asset.updatedAt;
}

/** Input of `asset.erase`. */
export interface Erasure {
  readonly id: string;
}

type AssetEvent = { readonly at: number } /** `isFirst`: it never replaces another file. */ & (
  | { readonly type: 'ready'; readonly file: File; readonly isFirst?: true }
  /** Another attempt to get its file begins. */
  | { readonly type: 'await' }
  | { readonly type: 'fail'; readonly message: string }
  | {
      readonly type: 'change';
      readonly changes: AssetChanges;
    }
  /** `endedAt`: only one whose `endedAt` is still this. */
  | { readonly type: 'delete'; readonly endedAt?: number }
);

type AssetEmitted = {
  readonly type: 'asset.created' | 'asset.updated' | 'asset.ready' | 'asset.failed' | 'asset.deleted';
};
