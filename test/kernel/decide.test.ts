import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { asking, type Decider, type OnError } from '../../core/plugin/decide.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

type Question = { readonly of: string };
type Noted = [plugin: string, outcome: string, error?: string];

/** Deciders in the order of their names, each with what it answers. */
function asked(
  deciders: Readonly<Record<string, (question: Question) => unknown>>,
  { onError = {} as Readonly<Record<string, OnError>>, timeout = 3000 } = {},
) {
  const clock = virtualClock({ start: 0 });
  const noted: Noted[] = [];
  const list = Object.entries(deciders).map(([plugin, decide]): Decider<Question> => {
    const note: Decider<Question>['note'] = (outcome, error) =>
      noted.push(error === undefined ? [plugin, outcome] : [plugin, outcome, String(error)]);
    return { plugin, onError: onError[plugin] ?? 'refuse', decide, note };
  });
  const ask = asking(list, { clock, timeout });
  return { clock, noted, ask: () => ask({ of: 'this' }) };
}

const allow = () => undefined;
const refuse = (reason: string) => () => ({ refuse: reason });
const fail = () => {
  throw new Error('broken');
};
const later = <T>(value: T) => Promise.resolve(value);
const never = () => new Promise<undefined>(() => {});
const failed = 'The server cannot decide at the moment whether this is allowed. Try again.';

describe('deciders that answer at once', () => {
  it('are asked with the question, all of them, and need no promise', () => {
    const seen: Question[] = [];
    const look = (question: Question) => void seen.push(question);
    const { ask, noted, clock } = asked({ a: look, b: look });
    expect(ask()).toBeUndefined();
    expect(seen).toEqual([{ of: 'this' }, { of: 'this' }]);
    expect(noted).toEqual([
      ['a', 'allowed'],
      ['b', 'allowed'],
    ]);
    expect(clock.pending()).toBe(0);
  });

  it.each([
    ['the only refusal', { a: allow, b: refuse('B says no.') }, 'b', 'B says no.'],
    [
      'the first of several',
      { a: allow, b: refuse('B says no.'), c: refuse('C says no.') },
      'b',
      'B says no.',
    ],
    ['a refusal, whoever failed before it', { a: fail, b: refuse('B says no.') }, 'b', 'B says no.'],
  ])('report %s', (_, deciders, plugin, reason) => {
    expect(asked(deciders).ask()).toEqual({ reason, plugin, isFailure: false });
  });

  it.each([
    ['throws', fail, 'Error: broken'],
    ['throws what is no error', () => Promise.reject('odd'), 'odd'],
    ['answers null', () => null, 'TypeError: the answer is neither undefined nor { refuse: "…" }'],
    ['answers true', () => true, 'TypeError: the answer is neither undefined nor { refuse: "…" }'],
    ['answers a text', () => 'no', 'TypeError: the answer is neither undefined nor { refuse: "…" }'],
    [
      'gives no reason',
      () => ({ refuse: 7 }),
      'TypeError: the answer is neither undefined nor { refuse: "…" }',
    ],
    [
      'cannot be read',
      () => ({
        get refuse() {
          throw new Fault('trap', { status: 500, message: 'a trap' });
        },
      }),
      'Fault: a trap',
    ],
  ])('fail if one %s: what that counts as is said for each plugin', async (_, wrong, error) => {
    const refusing = asked({ a: wrong, b: allow });
    expect(await refusing.ask()).toEqual({ reason: failed, plugin: 'a', isFailure: true });
    expect(refusing.noted).toContainEqual(['a', 'failed', error]);
    const allowing = asked({ a: wrong, b: allow }, { onError: { a: 'allow', b: 'refuse' } });
    expect(await allowing.ask()).toBeUndefined();
    expect(allowing.noted).toContainEqual(['a', 'failed', error]);
    // Promised nonsense is nonsense, too.
    const promising = asked({ a: async () => wrong(), b: allow });
    expect(await promising.ask()).toEqual({ reason: failed, plugin: 'a', isFailure: true });
    expect(promising.noted).toContainEqual(['a', 'failed', error]);
  });

  it('give a reason of one line and 200 characters, whatever is in it', () => {
    const reasonOf = (text: string) => (asked({ a: refuse(text) }).ask() as { reason: string }).reason;
    expect(reasonOf('  Not\r\n\u0000now\u202e,\tplease. ')).toBe('Not now , please.');
    expect(reasonOf('x'.repeat(1e6))).toBe(`${'x'.repeat(199)}…`);
    expect([...reasonOf('🎬'.repeat(300))]).toHaveLength(200);
    expect(reasonOf(`${'x'.repeat(199)}.`)).toBe(`${'x'.repeat(199)}.`);
    expect(reasonOf('\n\n')).toBe('It was refused.');
    expect(reasonOf('half a pair \ud83c')).toBe('half a pair \ufffd');
  });
});

describe('deciders that answer later', () => {
  it('are asked side by side', async () => {
    const running: string[] = [];
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const wait = (name: string) => () => {
      running.push(name);
      return promise;
    };
    const { ask, clock } = asked({ a: wait('a'), b: wait('b') });
    const verdict = ask();
    expect(verdict).toBeInstanceOf(Promise);
    expect(running).toEqual(['a', 'b']);
    resolve(undefined);
    expect(await verdict).toBeUndefined();
    expect(clock.pending()).toBe(0);
  });

  it('do not keep a refusal waiting that comes before them', async () => {
    const { ask, clock } = asked({ a: () => later({ refuse: 'A says no.' }), b: never });
    expect(await ask()).toMatchObject({ plugin: 'a' });
    expect(clock.now()).toBe(0);
    const sure = asked({ a: refuse('A says no.'), b: never });
    expect(await sure.ask()).toMatchObject({ plugin: 'a' });
    expect([clock.pending(), sure.clock.pending()]).toEqual([0, 0]);
  });

  it('are waited for where their refusal would be the one to report', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const { ask, clock } = asked({ a: () => promise, b: refuse('B says no.') });
    const verdict = ask();
    await clock.advance(2000);
    resolve({ refuse: 'A says no.' });
    expect(await verdict).toMatchObject({ plugin: 'a', reason: 'A says no.' });
  });

  it('fail at the time limit and no later; what one answers then changes nothing', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const { ask, clock, noted } = asked({ a: () => promise, b: () => later(undefined) }, { timeout: 500 });
    const verdict = ask();
    await clock.advance(499);
    expect(noted).toEqual([['b', 'allowed']]);
    await clock.advance(1);
    expect(await verdict).toEqual({ reason: failed, plugin: 'a', isFailure: true });
    expect(noted[1]).toEqual(['a', 'failed', 'Error: there was no answer within 500 ms']);
    resolve({ refuse: 'Too late.' });
    await clock.advance(1000);
    expect(noted).toHaveLength(2);
    expect(clock.pending()).toBe(0);
  });

  it('that hang keep no refusal of others from being reported', async () => {
    const { ask, clock } = asked({ a: never, b: refuse('B says no.') });
    const verdict = ask();
    await clock.advance(3000);
    expect(await verdict).toEqual({ reason: 'B says no.', plugin: 'b', isFailure: false });
  });

  it('that hang are as if they were not there where their failure allows', async () => {
    const { ask, clock } = asked({ a: never, b: allow }, { onError: { a: 'allow' } });
    const verdict = ask();
    await clock.advance(3000);
    expect(await verdict).toBeUndefined();
  });

  it('may answer with anything that can be awaited', async () => {
    const then = (done: (said: unknown) => void) => done({ refuse: 'No.' });
    const thenable = Object.fromEntries([['then', then]]);
    expect(await asked({ a: () => thenable }).ask()).toMatchObject({ reason: 'No.' });
    const get = () => {
      throw new Error('a trap');
    };
    const trap = Object.defineProperty({}, 'then', { get });
    expect(await asked({ a: () => trap }).ask()).toMatchObject({ isFailure: true });
  });
});
