import type { OutboundFailure } from '../../../core/ports/outbound.ts';
import type { PushReason, PushTrouble } from '../../../core/ports/pusher.ts';
import type { BadPushUrl } from '../../../core/push-url/destination.ts';

/** What can be wrong with a push without a word of its server. */
export const troubles = {
  full: { reason: 'full', message: 'This server pushes to as many targets as it may.' },
  processes: { reason: 'full', message: 'This server runs as many processes of ffmpeg as it may.' },
  memory: { reason: 'full', message: 'This server has no memory left for pushing to another target.' },
  hasty: {
    reason: 'full',
    message: 'The targets of this broadcast are changed too often: this one has to wait.',
  },
  timeout: { reason: 'timeout', message: 'The server did not answer in time.' },
  slow: {
    reason: 'slow',
    message: 'The server takes less than is broadcast: pictures are left out.',
  },
  stalled: (ms: number): PushTrouble => ({
    reason: 'stalled',
    message: `The server took nothing for ${Math.round(ms / 1000)} s.`,
  }),
  notBegun: {
    reason: 'connect',
    message: 'The connection could not be made because of an error on our side.',
  },
  broken: { reason: 'closed', message: 'The connection broke because of an error on our side.' },
} as const satisfies Record<string, PushTrouble | ((ms: number) => PushTrouble)>;

/** What became of a connection, in words that hold nothing of the URL; `what` is a sentence without its capital and full stop. */
export function trouble(reason: PushReason, what: string): PushTrouble {
  return { reason, message: `${what[0].toUpperCase()}${what.slice(1)}.` };
}

/** Failures of DNS and connections. Their messages call the place `the server` (`Place.origin`). */
export function outboundTrouble({ reason, message }: OutboundFailure): PushTrouble {
  return trouble(OUTBOUND_REASONS[reason] ?? 'connect', message);
}

const OUTBOUND_REASONS: Readonly<Partial<Record<string, PushReason>>> = {
  refused: 'forbidden',
  dns: 'dns',
  busy: 'dns',
  connect: 'connect',
  tls: 'tls',
  timeout: 'timeout',
};

/** The URL could never be pushed to. The API refuses such ones; there may be some from before it did. */
export function badUrl({ message }: BadPushUrl): PushTrouble {
  return trouble('url', message);
}

/** An error that nobody expected, for the log. Without its message, which may hold a URL; where it came from holds none. */
export function mishap(error: unknown): { error: string; at?: string } {
  if (!(error instanceof Error)) return { error: typeof error };
  const { code } = error as { code?: unknown };
  const name = typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? `${error.name} ${code}` : error.name;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return { error: name, ...(frames.length > 0 && { at: frames.slice(0, 3).join('; ').trim() }) };
}
