import type { FieldSet } from '../../core/resource.ts';
import { stream } from './contract.ts';
import type { StreamDocument } from './document.ts';
import type { StreamsKit } from './kit.ts';
import { refusalsOf } from './refusals.ts';

/** The stream object as its owner sees it, live figures included. */
export function presentStream(
  document: StreamDocument,
  options: { kit: StreamsKit; fields: FieldSet },
): Record<string, unknown> {
  const { kit, fields } = options;
  const live = document.token === null ? undefined : kit.media.figures(document.token);
  const current = live ?? document.current;
  const lastSeen = Math.max(document.lastMediaAt, live?.lastMediaAt ?? 0);
  const issues = document.isHeld ? [lost] : (live?.issues ?? []);
  const isContested =
    document.incarnation !== null && refusalsOf(kit).isRecent(document.parentId ?? document.id);
  const isBraked = (document.brakedUntil ?? 0) > kit.clock.now();
  // Of a session that is over nothing can be mended.
  const fieldIssues = document.parentId === null || document.isActive ? fields.issues(document.fields) : [];
  return {
    id: document.id,
    kind: 'stream',
    name: document.name,
    ...(document.parentId !== null && { parentId: document.parentId }),
    userId: document.account,
    createdAt: Math.floor(document.createdAt / 1000),
    createdByTokenName: document.createdByTokenName,
    ...(document.parentId === null && { streamKey: document.streamKey, suspended: document.suspended }),
    playbackId: document.playbackId,
    userTags: document.userTags,
    ...(document.holdSeconds !== null && { holdSeconds: document.holdSeconds }),
    isActive: document.isActive,
    ...(document.isActive && { isHealthy: issues.length === 0, ingestRate: live?.ingestRate ?? 0 }),
    issues: [...issues, ...(isBraked ? [fight] : []), ...(isContested ? [contested] : []), ...fieldIssues],
    ...(lastSeen > 0 && { lastSeen }),
    sourceBytes: document.past.bytes + current.bytes,
    sourceSegments: document.past.segments + current.segments,
    sourceSegmentsDuration: round(document.past.duration + current.duration),
    ...fields.present(document.fields),
  };
}

const lost =
  'The connection of the encoder was lost; the broadcast goes on when it comes back in time. ' +
  'Check its network, and start it again when it does not connect by itself.';
const contested =
  'Another encoder wanted to broadcast with this stream key and was refused, because the key is in use. ' +
  'Stop one of the two, or give each a stream of its own.';
const fight =
  'Several encoders take this stream key from each other; newcomers are refused for 30 s. ' +
  'Stop all but one, or give each a stream of its own.';

/** The stream object as events carry it: without the key. */
export function presentForEvent(document: StreamDocument, kit: StreamsKit): Record<string, unknown> {
  const { streamKey: _, ...rest } = presentStream(document, { kit, fields: kit.fields(stream) });
  return rest;
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
