import { Fault } from '../../core/base/fault.ts';
import { mayChange } from '../../core/http/access.ts';
import type { Principal } from '../../core/http/auth.ts';
import type { Caller } from '../../core/http/caller.ts';
import type { FieldSet } from '../../core/plugin/resource.ts';
import { safeCalls } from '../../core/plugin/safe-calls.ts';
import { nodeAddresses } from '../ingest/contract.ts';
import type { StreamsKit } from './config.ts';
import { ingestAddresses, stream, watchPages } from './contract.ts';
import type { StreamDocument } from './document.ts';
import { type LiveState, readLive, unknownState } from './live-figures.ts';

/** Whom a stream is shown to. */
export interface Reader {
  readonly caller: Caller;
  readonly principal: Principal;
}

/**
 * The stream object for its owner, with live figures and the derived fields of other plugins. The stream key is in it only for an API
 * key that may change the stream: whoever has it can broadcast.
 */
export function presenter(
  kit: StreamsKit,
): (document: StreamDocument, reader: Reader) => Promise<Record<string, unknown>> {
  const fields = kit.resources.fields(stream);
  const derived = kit.resources.derived(stream);
  const [watchPage] = kit.offered(watchPages);
  const safely = safeCalls(kit);
  const nodes = nodeAddresses(kit);
  const ofNodes = async (caller: Caller) => (await nodes(caller))[0]?.ingest;
  const [ingestAddress = ofNodes] = kit.offered(ingestAddresses);
  const addressFor = async (caller: Caller) => {
    try {
      return await ingestAddress(caller);
    } catch (error) {
      if (error instanceof Fault) throw error;
      const call = () => {
        throw error;
      };
      return safely(ingestAddresses.id, { call, otherwise: undefined });
    }
  };

  return async (document, { caller, principal }) => {
    const { id, parentId, playbackId } = document;
    const state = await readLive(document, kit);
    const { baseUrl } = caller;
    const { streamKey: key, ...shown } = presentStream(document, {
      ...{ state, at: kit.clock.now(), fields, baseUrl },
    });
    const isKeyShown = parentId === null && mayChange(principal.access, `stream/${id}`);
    const url = isKeyShown ? await addressFor(caller) : undefined;
    return derived.complete(
      {
        ...shown,
        ...(isKeyShown && { streamKey: key }),
        ...(url !== undefined && { ingestUrl: `${url}/${key}`, ingest: { url, key } }),
        watchUrl:
          shown.playbackUrl === undefined
            ? undefined
            : safely(watchPages.id, { call: () => watchPage?.(playbackId, caller), otherwise: undefined }),
      },
      caller,
    );
  };
}

/** The object at a moment (epoch ms), from the row and the live state. Pure. */
function presentStream(
  document: StreamDocument,
  { state, at, fields, baseUrl }: { state: LiveState; at: number; fields: FieldSet; baseUrl: string },
): Record<string, unknown> {
  const known = document.isActive ? state.figures : undefined;
  const live = known !== undefined && known.token === document.token ? known : undefined;
  const current = live ?? document.current;
  const lastMediaAt = Math.max(document.lastMediaAt, live?.lastMediaAt ?? 0);
  const issues = document.isHeld ? [lost] : (live?.issues ?? []);
  const isContested = document.incarnation !== null && state.isContested;
  const isBraked = (document.brakedUntil ?? 0) > at;
  // A stream is embedded before it is on the air; a session off the air plays at the address of its recording, if any.
  const isPlayable = document.parentId === null || document.isActive;
  // Issues of a session that has ended cannot be fixed.
  const shown = fields.present(document.fields);
  const fieldIssues = document.parentId === null || document.isActive ? fields.issues(shown) : [];
  // What is undefined is left out of JSON.
  return {
    id: document.id,
    kind: 'stream',
    name: document.name,
    parentId: document.parentId ?? undefined,
    userId: document.account,
    createdAt: Math.floor(document.createdAt / 1000),
    createdAtMs: document.createdAt,
    createdByTokenName: document.createdByTokenName,
    streamKey: document.parentId === null ? document.streamKey : undefined,
    suspended: document.parentId === null ? document.suspended : undefined,
    playbackId: document.playbackId,
    playbackUrl: isPlayable ? `${baseUrl}/hls/${document.playbackId}/index.m3u8` : undefined,
    userTags: document.userTags,
    holdSeconds: document.holdSeconds ?? undefined,
    isActive: document.isActive,
    isHealthy: document.isActive ? issues.length === 0 : undefined,
    ingestRate: document.isActive ? (live?.ingestRate ?? 0) : undefined,
    viewerCount: document.isActive ? (known?.viewers ?? 0) : undefined,
    issues: [
      ...issues,
      ...(live?.remarks ?? []),
      ...(isBraked ? [fight] : []),
      ...(isContested ? [contested] : []),
      ...fieldIssues,
    ],
    ...figuresOf({ lastMediaAt, past: document.past, current }),
    ...shown,
    ...recordingOf(document, shown),
  };
}

/** Of a parent only: the recording of a session may go on after the next session has begun. */
function recordingOf(
  { parentId, recording }: StreamDocument,
  { record }: { readonly record?: unknown },
): { recordingStatus?: 'waiting' | 'ready' } {
  const isShown = parentId === null && record === true;
  if (!isShown || !recording || recording.status === 'none') return {};
  return { recordingStatus: recording.status };
}

function figuresOf({
  lastMediaAt,
  past,
  current,
}: Pick<StreamDocument, 'lastMediaAt' | 'past' | 'current'>): Record<string, unknown> {
  return {
    lastSeen: lastMediaAt > 0 ? lastMediaAt : undefined,
    sourceBytes: past.bytes + current.bytes,
    sourceSegments: past.segments + current.segments,
    sourceSegmentsDuration: round(past.duration + current.duration),
  };
}

const lost =
  'The connection of the encoder was lost; the broadcast continues if it reconnects in time. ' +
  'Check its network, and start it again if it does not reconnect by itself.';
const contested =
  'Another encoder tried to broadcast with this stream key and was refused, because the key is in use. ' +
  'Stop one of the two, or give each a stream of its own.';
const fight =
  'Several encoders take this stream key from each other; newcomers are refused for 30 s. ' +
  'Stop all but one, or give each a stream of its own.';

/**
 * The stream object in events: without the key, and with the stored figures unless a live `state` is given. Pure: an event
 * that is made again is the same.
 */
export function presentForEvent(
  document: StreamDocument,
  options: { at: number; fields: FieldSet; baseUrl: string; state?: LiveState },
): Record<string, unknown> {
  const { streamKey: _, ...rest } = presentStream(document, { state: unknownState, ...options });
  return rest;
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
