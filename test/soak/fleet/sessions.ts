import type { Ledger } from './ledger.ts';

const figures = ['sourceBytes', 'sourceSegments', 'sourceSegmentsDuration'] as const;

export interface SessionWatch {
  readonly looks: number;
  /** Times that a figure was shown lower than before, for a moment: between a stop and the last word of its connection. */
  readonly dips: number;
  /** Ends it: by now everything that was ever shown must be there. */
  stop(): Promise<void>;
}

/** Reads all sessions now and then: in the end none may show less than it ever did. */
export function watchSessions(options: {
  ledger: Ledger;
  key: string;
  node(): string;
  every?: number;
}): SessionWatch {
  const { ledger, key, node, every = 2000 } = options;
  const most = new Map<string, Map<string, number>>();
  let isStopped = false;
  let looks = 0;
  let dips = 0;
  const look = async (low: (what: string) => void) => {
    const url = node();
    const answer = await fetch(`${url}/api/session?limit=1000`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(20_000),
    });
    const text = await answer.text();
    if (answer.status === 500) ledger.violation(`GET /api/session was answered 500: ${text}`);
    if (!answer.ok) return;
    looks += 1;
    for (const session of JSON.parse(text)) {
      const own = most.get(session.id) ?? new Map<string, number>();
      most.set(session.id, own);
      for (const name of figures) {
        const before = own.get(name) ?? 0;
        if (session[name] < before)
          low(
            `${name} of session ${session.id} of ${session.parentId} was ${before} and is ${session[name]} on ${url}`,
          );
        own.set(name, Math.max(before, session[name]));
      }
    }
  };
  const watching = (async () => {
    while (!isStopped) {
      // The node may be away; the next look asks another.
      await look(() => {
        dips += 1;
      }).catch(() => {});
      await Bun.sleep(every);
    }
  })();
  return {
    get looks() {
      return looks;
    },
    get dips() {
      return dips;
    },
    async stop() {
      isStopped = true;
      await watching;
      await look((what) => {
        if (ledger.hasMediaDied) dips += 1;
        else ledger.violation(what);
      });
    },
  };
}
