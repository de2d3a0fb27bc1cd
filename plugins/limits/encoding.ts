import type { LimitsKit } from './config.ts';

const kind = 'encoding-use';
/** How long what was encoded may be unwritten, ms: a crash forgets it. */
const writeAfter = 10_000;
/** How often a write is tried; another node wrote first. */
const attempts = 10;

/** What an account has encoded in one month. A former month is over and forgotten. */
interface Use {
  readonly month: string;
  readonly seconds: number;
}

/** Sums up what accounts encode in a calendar month (UTC), in the store, for all nodes together. */
export class EncodingUse {
  readonly #kit: Pick<LimitsKit, 'clock' | 'log' | 'resources'>;
  /** Seconds that are not written yet, by account. */
  readonly #unwritten = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(kit: Pick<LimitsKit, 'clock' | 'log' | 'resources'>) {
    this.#kit = kit;
  }

  /** Counts them, and writes them soon. */
  add(account: string, seconds: number): void {
    if (!(seconds > 0)) return;
    this.#unwritten.set(account, (this.#unwritten.get(account) ?? 0) + seconds);
    const { clock } = this.#kit;
    this.#cancel ??= clock.at(clock.now() + writeAfter, () => {
      this.#cancel = undefined;
      void this.#flush();
    });
  }

  /** Counts them, and resolves when they are written. */
  async note(account: string, seconds: number): Promise<void> {
    await this.#write(account, seconds);
  }

  async used(account: string): Promise<number> {
    const row = await this.#kit.resources.get(kind, account);
    const stored = row ? (JSON.parse(row.body) as Use) : undefined;
    const written = stored?.month === this.#month() ? stored.seconds : 0;
    return written + (this.#unwritten.get(account) ?? 0);
  }

  async stop(): Promise<void> {
    this.#cancel?.();
    await this.#flush();
  }

  #flush(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      for (const [account, seconds] of [...this.#unwritten]) {
        this.#unwritten.delete(account);
        try {
          await this.#write(account, seconds);
        } catch (error) {
          this.#kit.log.warn('what an account encodes could not be written; it is tried again', { error });
          this.#unwritten.set(account, (this.#unwritten.get(account) ?? 0) + seconds);
        }
      }
    });
    return this.#writing;
  }

  async #write(account: string, seconds: number): Promise<void> {
    const { clock, resources } = this.#kit;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const row = await resources.get(kind, account);
      const stored = row ? (JSON.parse(row.body) as Use) : undefined;
      const month = this.#month();
      const former = stored?.month === month ? stored.seconds : 0;
      const use: Use = { month, seconds: former + seconds };
      const place = { kind, id: account, account, name: '', createdAt: row?.createdAt ?? clock.now() };
      const written = { ...place, body: JSON.stringify(use), indexes: {}, revision: row?.revision ?? 0 };
      if ((await resources.write({ rows: [written], events: [] })) === 'ok') return;
    }
    throw new Error('other nodes wrote the same row each time');
  }

  /** `2026-01` */
  #month(): string {
    return new Date(this.#kit.clock.now()).toISOString().slice(0, 7);
  }
}
