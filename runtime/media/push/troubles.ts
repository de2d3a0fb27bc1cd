import type { PushTrouble } from '../../../core/ports/pusher.ts';

/** What can be wrong with a push without a word of its server. */
export const troubles = {
  url: {
    reason: 'url',
    message: 'Nothing can be pushed to this URL: expected one that begins with rtmp://, rtmps:// or srt://.',
  },
  full: { reason: 'full', message: 'This server pushes to as many targets as it may.' },
  memory: { reason: 'full', message: 'This server has no memory left for pushing to another target.' },
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

/** An error that nobody expected, for the log. Without its message, which may hold a URL; where it came from holds none. */
export function mishap(error: unknown): { error: string; at?: string } {
  if (!(error instanceof Error)) return { error: typeof error };
  const { code } = error as { code?: unknown };
  const name = typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? `${error.name} ${code}` : error.name;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return { error: name, ...(frames.length > 0 && { at: frames.slice(0, 3).join('; ').trim() }) };
}
