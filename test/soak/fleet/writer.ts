import type { Ledger } from './ledger.ts';

/** No attempt may take longer, ms: a command waits 10 s for its answer, calls to the store around it 3 s each. */
const bound = 30_000;
/** Between attempts, ms. */
const pause = 300;

export interface Write {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Of a POST. */
  readonly idempotencyKey?: string;
  /** Of the actor that is asked, if one is. */
  readonly partition?: number;
}

export interface Done {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of all routes
  readonly body: any;
  /** An attempt before this one may have been carried out. */
  readonly isRepeat: boolean;
}

export interface WriterOptions {
  readonly ledger: Ledger;
  readonly key: string;
  /** URL of a node that is believed to be up; another each time when that is not so. */
  node(avoided?: string): string;
  readonly signal: AbortSignal;
  /** 503 is an answer as good as any: engines are away. Otherwise it is noted by code. */
  onUnknown?(write: Write): void;
}

/** Writes until it is known what became of it. Undefined when the signal was aborted before. */
export async function write(asked: Write, options: WriterOptions): Promise<Done | undefined> {
  const { ledger, key, signal } = options;
  const { figures } = ledger;
  let isRepeat = false;
  let url = options.node();
  while (!signal.aborted) {
    const began = performance.now();
    figures.attempts += 1;
    let status = 'lost';
    try {
      const answer = await fetch(url + asked.path, {
        method: asked.method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(asked.idempotencyKey && { 'idempotency-key': asked.idempotencyKey }),
        },
        ...(asked.body !== undefined && { body: JSON.stringify(asked.body) }),
        signal: AbortSignal.timeout(bound),
        // Over a kept connection that dies, Bun sends again by itself, and reports of the second attempt alone: a write that was
        // carried out would be taken for one that was refused.
        keepalive: false,
      });
      const text = await answer.text();
      const took = performance.now() - began;
      const isEarly = answer.status === 404 && ledger.isCatchingUp;
      if (isEarly) figures.notYet += 1;
      if (answer.status < 500 && !isEarly && answer.status !== 429 && !isStillRunning(answer.status, text)) {
        count(figures.statuses, String(answer.status));
        figures.answers.push(took);
        if (answer.status < 300) ledger.acknowledged(asked.partition);
        return { status: answer.status, body: text === '' ? undefined : JSON.parse(text), isRepeat };
      }
      status = `${answer.status} ${codeOf(text)}`;
      figures.failures.push(took);
      if (answer.status === 503 && !answer.headers.has('retry-after')) figures.withoutRetryAfter += 1;
      if (answer.status === 500 || answer.status === 502)
        ledger.violation(
          `${asked.method} ${asked.path} was answered ${answer.status}: ${text.slice(0, 300)}`,
        );
      const isSure = /store\.(unreachable|busy|full)|server\.busy|bus\.unreachable/.test(text);
      if (isSure) figures.refused += 1;
      else {
        isRepeat = true;
        figures.unknown += 1;
        options.onUnknown?.(asked);
      }
    } catch (error) {
      const took = performance.now() - began;
      status =
        error instanceof Error ? (error.name === 'TimeoutError' ? 'timeout' : codeOrName(error)) : 'lost';
      if (status === 'timeout')
        ledger.violation(
          `${asked.method} ${asked.path} on ${url} was not answered for ${Math.round(took)} ms`,
        );
      if (/refused/i.test(status)) figures.refused += 1;
      else {
        isRepeat = true;
        figures.unknown += 1;
        options.onUnknown?.(asked);
      }
      url = options.node(url);
    }
    count(figures.statuses, status);
    await Bun.sleep(pause);
  }
  return undefined;
}

/** The first request with the key is still at work on a node. */
const isStillRunning = (status: number, text: string) => status === 409 && text.includes('still running');

function codeOf(text: string): string {
  return /"code":"([^"]+)"/.exec(text)?.[1] ?? text.slice(0, 80);
}

function codeOrName(error: Error): string {
  return (error as { code?: string }).code ?? error.name;
}

export function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}
