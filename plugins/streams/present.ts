import type { FieldSet } from '../../core/resource.ts';
import { stream } from './contract.ts';
import type { StreamDocument } from './document.ts';
import type { StreamsKit } from './kit.ts';
import { type LiveFigures, readLive } from './live-figures.ts';
import { refusalsOf } from './refusals.ts';

/** The stream object as its owner sees it, live figures included. Of what is not on the air nothing is looked up. */
export function presentLive(
  document: StreamDocument,
  options: { kit: StreamsKit; fields: FieldSet },
): Record<string, unknown> | Promise<Record<string, unknown>> {
  if (!document.isActive) return presentStream(document, options);
  return readLive(document, options.kit).then((known) => presentStream(document, { ...options, known }));
}

/** The same from the row and what is `known` of it right now. */
function presentStream(
  document: StreamDocument,
  options: { kit: StreamsKit; fields: FieldSet; known?: LiveFigures | undefined },
): Record<string, unknown> {
  const { kit, fields, known } = options;
  const live = known !== undefined && known.token === document.token ? known : undefined;
  const current = live ?? document.current;
  const lastSeen = Math.max(document.lastMediaAt, live?.lastMediaAt ?? 0);
  const issues = document.isHeld ? [lost] : (live?.issues ?? []);
  const isContested =
    document.incarnation !== null && refusalsOf(kit).isRecent(document.parentId ?? document.id);
  const isBraked = (document.brakedUntil ?? 0) > kit.clock.now();
  // Of a session that is over nothing can be mended.
  const shown = fields.present(document.fields);
  const fieldIssues = document.parentId === null || document.isActive ? fields.issues(shown) : [];
  // What is undefined is left out of JSON. Spreads would read better and cost a GET a tenth of its time.
  return Object.assign(
    {
      id: document.id,
      kind: 'stream',
      name: document.name,
      parentId: document.parentId ?? undefined,
      userId: document.account,
      createdAt: Math.floor(document.createdAt / 1000),
      createdByTokenName: document.createdByTokenName,
      streamKey: document.parentId === null ? document.streamKey : undefined,
      suspended: document.parentId === null ? document.suspended : undefined,
      playbackId: document.playbackId,
      userTags: document.userTags,
      holdSeconds: document.holdSeconds ?? undefined,
      isActive: document.isActive,
      isHealthy: document.isActive ? issues.length === 0 : undefined,
      ingestRate: document.isActive ? (live?.ingestRate ?? 0) : undefined,
      viewerCount: document.isActive ? (known?.viewers ?? 0) : undefined,
      issues: [...issues, ...(isBraked ? [fight] : []), ...(isContested ? [contested] : []), ...fieldIssues],
      lastSeen: lastSeen > 0 ? lastSeen : undefined,
      sourceBytes: document.past.bytes + current.bytes,
      sourceSegments: document.past.segments + current.segments,
      sourceSegmentsDuration: round(document.past.duration + current.duration),
    },
    shown,
  );
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

/**
 * The stream object as events carry it: without the key, and with the figures that were stored with the event
 * unless live ones are at hand.
 */
export function presentForEvent(
  document: StreamDocument,
  options: { kit: StreamsKit; known?: LiveFigures | undefined },
): Record<string, unknown> {
  const { kit, known } = options;
  const { streamKey: _, ...rest } = presentStream(document, { kit, known, fields: kit.fields(stream) });
  return rest;
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
