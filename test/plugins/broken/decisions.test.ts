import { describe, expect, it } from 'vitest';
import { broken, errorsOf, expectTheRestToWork, issuesOf, worldWith } from './kit.ts';

const never = new Promise<never>(() => {});
const fails = (what: string) => (): never => {
  throw new TypeError(what);
};
const undecided = 'The server cannot decide at the moment whether this is allowed. Try again.';

describe('plugins that decide', () => {
  it('and disagree: the refusal wins, whichever comes first, and concerns only what was asked about', async () => {
    const allow = () => undefined;
    const refuse = ({ name }: { name: string }) =>
      name === 'Bad' ? { refuse: 'This name is not wanted.' } : undefined;
    for (const [first, second] of [
      [allow, refuse],
      [refuse, allow],
    ] as const) {
      await using w = await worldWith([
        broken({ decides: { publish: first } }),
        broken({ decides: { publish: second } }, 'other'),
      ]);
      const bad = await w.given.stream({ name: 'Bad' });
      expect((await w.media.publish(bad.streamKey)).answer).toEqual({
        ...{ granted: false, reason: 'rejected', message: 'This name is not wanted.' },
      });
      await expectTheRestToWork(w);
      expect(await issuesOf(w)).toEqual([]);
    }
  });

  it.each([
    ['throws', { publish: fails('no answer') }, /TypeError: no answer/],
    ['answers nonsense', { publish: () => 'no' as never }, /neither undefined nor/],
    ['hangs', { publish: () => never }, /there was no answer within 3000 ms/],
  ])(
    'and one %s: nothing passes that it was to look at, unless the config says so',
    async (_, decides, error) => {
      for (const onError of ['refuse', 'allow'] as const) {
        const decisions = { timeout: 3000, onError };
        await using w = await worldWith([broken({ decides })], { decisions });
        const stream = await w.given.stream();
        const publishing = w.media.publish(stream.streamKey);
        await w.advance('3s');
        const { answer } = await publishing;
        if (onError === 'allow') expect(answer.granted).toBe(true);
        else expect(answer).toEqual({ granted: false, reason: 'unavailable', message: undecided });
        expect(await issuesOf(w)).toEqual([
          `The plugin broken fails to decide about broadcasts: ${onError === 'allow' ? 'they are allowed without it' : 'they are refused'}. The log says why.`,
        ]);
        expect(errorsOf(w)[0]?.error).toMatch(error);
        expect((await w.request('GET', '/api/stream')).status).toBe(200);
      }
    },
  );

  it('and one that could not be started: as if it failed, for it might have refused', async () => {
    let asked = 0;
    const plugin = broken({
      start: fails('no list of names'),
      decides: {
        publish() {
          asked += 1;
          return undefined;
        },
      },
    });
    {
      await using w = await worldWith([plugin]);
      const { streamKey } = await w.given.stream();
      expect((await w.media.publish(streamKey)).answer).toEqual({
        ...{ granted: false, reason: 'unavailable', message: undecided },
      });
      expect(await issuesOf(w)).toEqual([
        'The plugin broken is off, because it could not be started. Fix what the log says about it, and restart the server.',
        'The plugin broken fails to decide about broadcasts: they are refused. The log says why.',
      ]);
    }
    await using w = await worldWith([plugin], { decisions: { timeout: 3000, onError: 'allow' } });
    await expectTheRestToWork(w);
    expect(asked).toBe(0);
  });
});
