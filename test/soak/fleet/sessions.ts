import type { Ledger } from './ledger.ts';

const figures = ['sourceBytes', 'sourceSegments', 'sourceSegmentsDuration'] as const;

/** Reads all sessions now and then: what they show must never go back. */
export function watchSessions(options: { ledger: Ledger; key: string; node(): string; every?: number }): {
  readonly looks: number;
  stop(): Promise<void>;
} {
  const { ledger, key, node, every = 2000 } = options;
  const last = new Map<string, Record<string, number>>();
  let isStopped = false;
  let looks = 0;
  const watching = (async () => {
    while (!isStopped) {
      try {
        const url = node();
        const answer = await fetch(`${url}/api/session?limit=1000`, {
          headers: { authorization: `Bearer ${key}` },
          signal: AbortSignal.timeout(20_000),
        });
        const text = await answer.text();
        if (answer.ok) {
          looks += 1;
          for (const session of JSON.parse(text)) {
            const before = last.get(session.id);
            for (const name of figures) {
              if (before && session[name] < before[name]!)
                ledger.violation(
                  `${name} of session ${session.id} (${session.parentId}) went from ${before[name]} back to ${session[name]} on ${url}`,
                );
            }
            last.set(session.id, session);
          }
        } else if (answer.status === 500) ledger.violation(`GET /api/session was answered 500: ${text}`);
      } catch {
        // The node is away; the next look asks another.
      }
      await Bun.sleep(every);
    }
  })();
  return {
    get looks() {
      return looks;
    },
    async stop() {
      isStopped = true;
      await watching;
    },
  };
}
