import { type Kit, sideBySide } from 'millrace/plugin';

/** What was counted of one video and is not written yet. */
export interface Count {
  readonly account: string;
  sessions: number;
  watchMs: number;
  /** What the last write would have added, if it got no answer. */
  attempt?: { readonly at: number; readonly sessions: number; readonly watchMs: number } | undefined;
}

/** A row per video, changed by compare-and-set. */
interface Views {
  readonly sessions: number;
  readonly watchMs: number;
  /** When each process added something last, epoch ms: so it knows a write again that got no answer. */
  readonly added: Readonly<Record<string, number>>;
}

type Resources = Kit['resources'];
const kind = 'views';
const none: Views = { sessions: 0, watchMs: 0, added: {} };
/** For how long it is remembered what a process added, ms. */
const remembered = 3_600_000;

export async function viewsOf(video: string, { resources }: { resources: Resources }) {
  const row = await resources.get(kind, video);
  return { row, account: row?.account, views: row ? (JSON.parse(row.body) as Views) : none };
}

/** Adds the counts to the rows, and takes away what was added. */
export async function flush(
  counts: Map<string, Count>,
  options: { readonly process: string; readonly resources: Resources; readonly now: number },
): Promise<void> {
  const { process, resources, now } = options;
  await sideBySide([...counts], async ([video, count]) => {
    const { row, views } = await viewsOf(video, { resources });
    if (count.attempt?.at === views.added[process]) subtract(count);
    const { account, sessions, watchMs } = count;
    if (sessions === 0 && watchMs === 0) return void counts.delete(video);
    count.attempt = { at: now, sessions, watchMs };
    const recent = Object.entries(views.added).filter(([, at]) => at > now - remembered);
    const next: Views = {
      sessions: views.sessions + sessions,
      watchMs: views.watchMs + watchMs,
      added: { ...Object.fromEntries(recent), [process]: now },
    };
    const { createdAt, revision } = row ?? { createdAt: now, revision: 0 };
    const body = JSON.stringify(next);
    const rows = [{ kind, id: video, account, createdAt, name: '', body, indexes: {}, revision }];
    if ((await resources.write({ rows, events: [] })) === 'ok') return subtract(count);
    // Another node was faster: the next turn adds it.
    count.attempt = undefined;
  });
}

function subtract(count: Count): void {
  count.sessions -= count.attempt?.sessions ?? 0;
  count.watchMs -= count.attempt?.watchMs ?? 0;
  count.attempt = undefined;
}
