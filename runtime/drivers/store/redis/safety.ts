import { Fault } from '../../../../core/base/fault.ts';
import { unreachable } from '../../redis/failures.ts';

export interface SafetyOptions {
  /** How often Redis must sync its log to disk, at the least. Default `everysec`. */
  readonly fsync?: 'everysec' | 'always';
  /** Starts on a Redis that forgets: for caches and tests. */
  readonly allowLoss?: boolean;
}

/** Sends one command and resolves with its answer. */
export type Ask = (command: readonly string[]) => Promise<unknown>;

/**
 * Checks that this Redis keeps what it acknowledges. Resolves with the name that it gave itself when it was started, if it
 * tells. Faults: `store.unsafe` with everything that is wrong, `store.refused` when it is too old, `store.unreachable`
 * while it loads its data.
 */
export async function checkSafety(ask: Ask, options: SafetyOptions): Promise<string | undefined> {
  const info = infoOf(await ask(['INFO']));
  const version = info.get('redis_version') ?? '';
  if (!(Number.parseInt(version, 10) >= 7)) {
    throw new Fault('store.refused', {
      status: 500,
      message: `redis.url leads to Redis ${version || 'of an unknown version'}; expected 7.0 or newer`,
    });
  }
  if (info.get('cluster_enabled') === '1') {
    throw new Fault('store.refused', {
      status: 500,
      message: 'redis.url leads to a Redis Cluster; expected a single Redis, or a primary with replicas',
    });
  }
  // It answers INFO already, and as if it kept no log: that one is switched off while it is read.
  if (info.get('loading') === '1') throw unreachable('it is loading its data');
  // Nobody has told the sentinels yet, or this one, that another is the primary now.
  if (info.get('role') === 'slave') throw unreachable('it is a replica');
  const run = info.get('run_id');
  if (options.allowLoss) return run;
  const settings = await Promise.all(
    ['appendfsync', 'no-appendfsync-on-rewrite'].map((name) => settingOf(ask, name)),
  );
  const [fsync, isPaused] = settings;
  const problems: string[] = [];
  const expect = (isFine: boolean, what: string) => {
    if (!isFine) problems.push(what);
  };
  expect(info.get('aof_enabled') === '1', 'Redis keeps no log of writes: expected "appendonly yes"');
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  expect(
    policy === 'noeviction',
    `Redis may evict what it holds: expected "maxmemory-policy noeviction", not ${policy}`,
  );
  if (options.fsync === 'always') {
    expect(
      fsync === 'always',
      `redis.fsync is always: expected "appendfsync always", not ${fsync ?? 'known'}`,
    );
    expect(isPaused !== 'yes', 'redis.fsync is always: expected "no-appendfsync-on-rewrite no"');
  } else {
    expect(fsync !== 'no', 'Redis never syncs its log: expected "appendfsync everysec" or "always"');
  }
  if (problems.length > 0) throw new Fault('store.unsafe', { status: 500, message: problems });
  return run;
}

/** Undefined where it must not be asked for, as with most that are rented. */
async function settingOf(ask: Ask, name: string): Promise<string | undefined> {
  const answer = await ask(['CONFIG', 'GET', name]).catch((error: unknown) => {
    if (error instanceof Fault && error.code !== 'store.refused') throw error;
    return [];
  });
  return Array.isArray(answer) ? answer[1] : (answer as Record<string, string>)[name];
}

function infoOf(text: unknown): Map<string, string> {
  const lines = String(text).split('\r\n');
  return new Map(lines.map((line) => line.split(':', 2) as [string, string]));
}
