import { join } from 'node:path';
import type { Clock } from '../core/ports/clock.ts';
import type { Jobs } from '../core/ports/jobs.ts';
import type { Store } from '../core/ports/store.ts';
import type { Volatile } from '../core/ports/volatile.ts';

/** Opens the drivers that a config names. Of the others neither code nor client is loaded. */
export async function openDrivers(settings: DriverSettings, context: DriverContext): Promise<OpenDrivers> {
  const { clock, onFailure } = context;
  const [{ sqliteStore }, { memoryVolatile }] = await Promise.all([
    import('./drivers/store/sqlite/index.ts'),
    import('./drivers/volatile/memory.ts'),
  ]);
  const store = sqliteStore({ file: join(settings.dataDir, 'millrace.db'), onFailure });
  return { store, jobs: store.jobs, volatile: memoryVolatile({ clock }) };
}

export interface DriverSettings {
  readonly drivers: { readonly store: 'sqlite' | 'redis' };
  readonly dataDir: string;
}

interface DriverContext {
  readonly clock: Clock;
  /** The store cannot go on. */
  onFailure(error: Error): void;
}

export interface OpenDrivers {
  readonly store: Store;
  readonly jobs: Jobs;
  readonly volatile: Volatile;
  /** Engines beside the program: name → a question that it answers when it can. */
  readonly engines?: Readonly<Record<string, () => Promise<unknown>>>;
}
