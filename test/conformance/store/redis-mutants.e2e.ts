import { describe, expect, test } from 'vitest';
import type { ScriptName } from '../../../runtime/drivers/store/redis/scripts.ts';
import { engineFor } from '../../kit/engines.ts';
import type { Check } from './check.ts';
import { failed } from './failed.ts';
import { openRedis } from './redis-store.ts';
import { sequenceChecks } from './sequence-checks.ts';
import { storeChecks } from './suite.ts';

/** Scripts with one fault each: what is taken out of them, and the check that is about it. */
const mutants: Record<string, { script: ScriptName; from: string; to: string; breaks: string }> = {
  'looks at no epoch': {
    script: 'commit',
    from: "if head[1] ~= epoch then return { 'fenced' } end",
    to: '',
    breaks: 'a former owner is fenced and writes nothing',
  },
  'keeps the offset out of the commit': {
    script: 'commit',
    from: "if from ~= '' and from ~= to then set_field(heads, 'o' .. partition, to) end",
    to: '',
    breaks: 'a batch moves the offset of its partition, and that lasts',
  },
  'takes a cause again': {
    script: 'commit',
    from: "call('ZSCORE', tag .. 'causes', cause)",
    to: 'false',
    breaks: 'a cause is consumed once',
  },
  'does not see the steps before it in the batch': {
    script: 'commit',
    from: 'if sequences[actor] then return sequences[actor] end',
    to: '',
    breaks: 'the steps of a batch are written together or not at all',
  },
  'takes a gap for a repeat': {
    script: 'commit',
    from: "return { 'gap', head[2] or '-1' }",
    to: "return { 'duplicate' }",
    breaks: 'where the log is consumed decides over a batch, in every combination',
  },
  'spawns an actor that has ended': {
    script: 'commit',
    from: "return call('ZSCORE', tag .. 'ended', actor) and 'ended' or '0'",
    to: "return '0'",
    breaks: 'an actor that ended is gone, and its id is not taken again',
  },
  'leaves index entries behind': {
    script: 'commit',
    from: "if new[key] ~= member then call('ZREM', key, member) end",
    to: '',
    breaks: 'index entries of an earlier write that are not repeated are removed',
  },
  'lets the last writer win': {
    script: 'write',
    from: 'if stored_row(kind, id) ~= tonumber(revision) then',
    to: 'if false then',
    breaks: 'plain rows are written by compare-and-set',
  },
  'writes an event again': {
    script: 'write',
    from: "and once ~= '' then",
    to: 'and false then',
    breaks: 'a write with isOnce writes an event once, whoever wrote it, until a sweep forgets it',
  },
  'sweeps what nobody has published': {
    script: 'sweep',
    from: 'if tonumber(position) <= up_to then',
    to: 'if true then',
    breaks: 'a sweep up to a position keeps the events after it, however old they are',
  },
  'does not find events by their ids': {
    script: 'commit',
    from: "set_field(tag .. 'event-ids', id, position)",
    to: '',
    breaks: 'a sweep forgets events and causes before its time, and only those',
  },
};

const redis = await engineFor('redis');

describe.skipIf(redis.isMissing)('the suite bites on a real Redis', () => {
  test.each(Object.entries(mutants))('a script that %s', async (_, { script, from, to, breaks }) => {
    const change = (name: ScriptName, text: string) => {
      if (name !== script) return text;
      expect(text.split(from)).toHaveLength(2);
      return text.replace(from, () => to);
    };
    const own = storeChecks.filter((check) => check.name === breaks);
    expect(own).toHaveLength(1);
    expect(await failures(own, change)).toEqual([breaks]);
    // The generated calls find it too, without having been told where to look.
    expect(await failures(sequenceChecks, change)).not.toEqual([]);
  });

  test('and not without a fault', async () => {
    expect(await failures(sequenceChecks.slice(0, 3), (_, text) => text)).toEqual([]);
  });
});

async function failures(checks: readonly Check[], change: (name: ScriptName, text: string) => string) {
  const { url } = await redis.shared();
  return failed(checks, async () => openRedis({ url, change }));
}
