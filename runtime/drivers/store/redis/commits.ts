import { Fault } from '../../../../core/base/fault.ts';
import type { CommitOutcome, ResourceCommit, Store } from '../../../../core/ports/store.ts';
import type { Appender } from './appender.ts';
import type { Engine } from './engine.ts';
import type { Keys, Shard } from './keys.ts';
import type { Link } from './link.ts';
import { rowOf } from './rows.ts';
import type { ScriptName } from './scripts.ts';
import { stepArguments, writeArguments } from './step-arguments.ts';

export interface CommitsOptions {
  readonly link: Link;
  readonly engine: Engine;
  readonly keys: Keys;
  readonly log: Appender;
  shards(): Promise<readonly Shard[]>;
}

/**
 * The writes: one script each, in one shard. Events are in the outbox with their commit, and in the log before it is
 * answered; when the process dies in between, whoever takes the partition over brings them there.
 */
export function commits(options: CommitsOptions): Pick<Store, 'commit' | 'consume' | 'write'> {
  const { link, engine, keys, log, shards } = options;

  const run = async (
    name: ScriptName,
    {
      shard,
      values,
      left,
    }: { shard: Shard; values: readonly string[]; left: Pick<ResourceCommit, 'at' | 'events'> },
  ): Promise<CommitOutcome | { outcome: 'absent'; rows: number[] }> => {
    const { events } = left;
    const answer = (await engine.change(name, keys.of(shard, 'head'), values).catch((error: unknown) => {
      if (events.length > 0) log.suspect(shard);
      throw error;
    })) as string[];
    const [outcome, value] = answer;
    if (outcome === 'absent') return { outcome, rows: answer.slice(1).map(Number) };
    if (outcome !== 'ok') return refusalOf(answer);
    const positions = events.length === 0 ? [] : await append(shard, left);
    return { outcome, events: positions, ...(value && { entry: Number(value) }) };
  };

  const append = async (shard: Shard, { events, at }: Pick<ResourceCommit, 'at' | 'events'>) => {
    try {
      return await log.append(shard, events, at);
    } catch (error) {
      log.suspect(shard);
      throw new Fault('store.unknown', {
        status: 503,
        message: `written, but its events are not in the log yet: ${(error as Error).message}`,
        retryAfter: 1,
        cause: error,
      });
    }
  };

  /** Rows of a write that steps wrote: they are where their actors are. All or nothing in each partition. */
  const writeElsewhere = async (write: ResourceCommit, absent: readonly number[]): Promise<CommitOutcome> => {
    const all = (await shards()).filter((shard) => shard !== 'plain');
    const found = new Map<Shard, ResourceCommit['rows'][number][]>();
    const homes = await Promise.all(
      absent.map(async (index) => {
        const row = write.rows[index] as ResourceCommit['rows'][number];
        const key = `rows\0${row.kind}`;
        const stored = await Promise.all(
          all.map((shard) => link.read(['HGET', keys.of(shard, key), row.id])),
        );
        const home = stored.findIndex((one) => one !== null);
        return { row, shard: all[home], stored: stored[home] as string | undefined };
      }),
    );
    for (const { row, shard, stored } of homes) {
      if (shard === undefined || !stored || rowOf(row.id, stored).row.revision !== row.revision) {
        return { outcome: 'conflict' };
      }
      found.set(shard, [...(found.get(shard) ?? []), row]);
    }
    for (const [shard, rows] of found) {
      const left = { at: write.at, events: [] };
      const { outcome } = await run('write', { shard, values: writeArguments({ ...left, rows }), left });
      if (outcome !== 'ok') return { outcome: 'conflict' };
    }
    const rest = { ...write, rows: write.rows.filter((_, index) => !absent.includes(index)) };
    const { outcome, ...more } = await run('write', {
      ...{ shard: 'plain', values: writeArguments(rest), left: rest },
    });
    return outcome === 'ok' ? ({ outcome, ...more } as CommitOutcome) : { outcome: 'conflict' };
  };

  return {
    async commit(step) {
      const values = stepArguments(step);
      return (await run('commit', { shard: step.partition, values, left: step })) as CommitOutcome;
    },
    async consume({ partition, epoch, from, to }) {
      const left = { at: 0, events: [] };
      const values = [String(epoch), String(from), String(to)];
      return (await run('consume', { shard: partition, values, left })) as CommitOutcome;
    },
    async write(write) {
      const answer = await run('write', { shard: 'plain', values: writeArguments(write), left: write });
      return answer.outcome === 'absent' ? writeElsewhere(write, answer.rows) : answer;
    },
  };
}

function refusalOf([outcome, value]: readonly string[]): CommitOutcome {
  if (outcome === 'gap') return { outcome, offset: Number(value) };
  if (outcome === 'duplicate' || outcome === 'fenced' || outcome === 'conflict') return { outcome };
  throw new Error(`redis: a script answered ${outcome}`);
}
