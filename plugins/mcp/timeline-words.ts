import { clock, spansOf } from './causes.ts';
import type { Entry, Facts } from './facts.ts';

/** What happened, oldest first, a line each: `10:03:07 the playlist works`. */
export function timelineWords({ timeline, points, refused }: Facts): string[] {
  const told = new Set(timeline.flatMap(({ issues = [] }) => issues));
  const lines = [
    ...timeline.map((entry) => ({ at: entry.at, words: wordsOf(entry) })),
    // Changes of health within 10 s of another one are no events.
    ...spansOf(points)
      .filter(({ text }) => !told.has(text))
      .map(({ from, text }) => ({ at: from, words: `issue: ${text}` })),
    ...refused.map(({ at, message, encoder }) => ({
      at,
      words: `a publish${encoder ? ` of ${encoder}` : ''} was refused or closed: ${message}`,
    })),
  ];
  return lines.sort((a, b) => a.at - b.at).map(({ at, words }) => `${clock(at)} ${words}`);
}

const states: Readonly<Record<string, string>> = {
  connecting: 'the encoder connected; the session began',
  live: 'on the air: the playlist works',
  idle: 'off the air',
};

function wordsOf(entry: Entry): string {
  const { kind, event = '', payload } = entry;
  if (kind === 'state') return states[entry.state ?? ''] ?? `${entry.state}`;
  if (kind === 'health')
    return entry.isHealthy ? 'healthy again' : `unhealthy: ${(entry.issues ?? []).join(' ')}`;
  if (kind === 'delivery') {
    const { success, status, error, attempt = 0, webhookId } = entry;
    const answer = success ? `arrived (${status})` : `failed: ${error ?? `it answered ${status}`}`;
    return `${event} to the webhook ${webhookId} ${answer}${attempt > 1 ? `, attempt ${attempt}` : ''}`;
  }
  const about = payload?.target?.name === undefined ? '' : ` "${payload.target.name}"`;
  const why = payload?.error ?? payload?.reason ?? payload?.task?.status?.errorMessage;
  return `${event}${about}${why === undefined ? '' : `: ${why}`}`;
}
