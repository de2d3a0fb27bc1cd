import { expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { lastKnown, maxRemembered } from '../../core/vod/route.ts';

const away = new Fault('store.unreachable', { status: 503, message: 'away' });

it('what was found last counts while there is no answer, and only then', async () => {
  const answers: (string | undefined | Error)[] = [];
  const find = lastKnown<string>(async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  });
  answers.push(away);
  await expect(find('a')).rejects.toBe(away);
  answers.push('one', away, undefined, away);
  expect(await find('a')).toBe('one');
  expect(await find('a')).toBe('one');
  expect(await find('a')).toBeUndefined();
  await expect(find('a')).rejects.toBe(away);
  const refusal = new Fault('recording.not_ready', { status: 404, message: 'not yet' });
  answers.push('one', refusal, new TypeError('ours'));
  await find('a');
  await expect(find('a')).rejects.toBe(refusal);
  await expect(find('a')).rejects.toThrow('ours');
  answers.push('two', 'three', away, away, away);
  await find('b');
  await find('c');
  answers.unshift(...Array.from({ length: maxRemembered - 2 }, () => 'other'));
  for (let number = 2; number < maxRemembered; number += 1) await find(`x${number}`);
  await expect(find('a')).rejects.toBe(away);
  expect([await find('b'), await find('c')]).toEqual(['two', 'three']);
});
