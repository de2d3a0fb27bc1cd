import { describe, expect, it } from 'vitest';
import { findByName } from '../../core/vod/aliases.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

/** Things by their ids, and one set of aliases that notes what it is asked. */
function finder(options: { find?: (alias: string) => Promise<string | undefined> } = {}) {
  const clock = virtualClock({ start: 0 });
  const asked: string[] = [];
  const looked: string[] = [];
  const find = options.find ?? (async (alias: string) => (alias.startsWith('a') ? 'thing' : undefined));
  const byName = findByName({
    clock,
    aliases: [
      { find: async () => undefined },
      {
        find(alias) {
          asked.push(alias);
          return find(alias);
        },
      },
    ],
  });
  const things = new Map([['thing', 'The thing']]);
  return {
    ...{ clock, asked, looked, things },
    get: (name: string) =>
      byName(name, async (id) => {
        looked.push(id);
        return things.get(id);
      }),
  };
}

describe('names of what can be watched', () => {
  it('that are ids ask no alias', async () => {
    const { get, asked, looked } = finder();
    expect(await get('thing')).toBe('The thing');
    expect([asked, looked]).toEqual([[], ['thing']]);
  });

  it('that are aliases are looked up once in 10 s, and then the own name is not tried', async () => {
    const { get, asked, looked, clock } = finder();
    for (let n = 0; n < 3; n += 1) expect(await get('a1')).toBe('The thing');
    expect([asked, looked]).toEqual([['a1'], ['a1', 'thing', 'thing', 'thing']]);
    await clock.advance(10_000);
    expect(await get('a1')).toBe('The thing');
    expect(asked).toEqual(['a1', 'a1']);
  });

  it('that are nothing are remembered too, but not without end', async () => {
    const { get, asked } = finder();
    for (let n = 0; n < 3; n += 1) expect(await get('nothing')).toBeUndefined();
    expect(asked).toEqual(['nothing']);
    for (let n = 0; n < 2000; n += 1) await get(`n${n}`);
    expect(await get('nothing')).toBeUndefined();
    expect(asked).toHaveLength(2002);
    expect(await get('n1999')).toBeUndefined();
    expect(asked).toHaveLength(2002);
  });

  it('whose thing is gone are nothing, and its own name counts again', async () => {
    const { get, things } = finder();
    expect(await get('a1')).toBe('The thing');
    things.delete('thing');
    expect(await get('a1')).toBeUndefined();
    things.set('a1', 'Another');
    expect(await get('a1')).toBe('Another');
  });

  it('are looked up once for all who ask at one time, and at most 100 at one time', async () => {
    const held: ((id: string | undefined) => void)[] = [];
    const { get, asked, clock } = finder({ find: () => new Promise((resolve) => held.push(resolve)) });
    const same = [get('x'), get('x'), get('x')];
    const others = Array.from({ length: 99 }, (_, n) => get(`x${n}`));
    await clock.advance(0);
    expect(asked).toHaveLength(100);
    await expect(get('one more')).rejects.toMatchObject({ code: 'server.busy', status: 503 });
    for (const answer of held) answer('thing');
    expect(await Promise.all(same)).toEqual(['The thing', 'The thing', 'The thing']);
    await Promise.all(others);
  });

  it('whose look takes more than 5 s are 503, and Faults of aliases go to the viewer', async () => {
    const { get, clock } = finder({ find: () => new Promise(() => {}) });
    const late = get('x').catch((error: unknown) => error);
    await clock.advance(5000);
    expect(await late).toMatchObject({ code: 'server.busy' });
    const failing = finder({ find: () => Promise.reject(new Error('away')) });
    await expect(failing.get('x')).rejects.toThrow('away');
  });
});
