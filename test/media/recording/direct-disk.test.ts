import { expect, it } from 'vitest';
import { DirectDisk } from '../../../runtime/media/recording/direct-disk.ts';
import { recorderDefaults } from '../../../runtime/media/recording/limits.ts';

/** A disk whose calls take as long as they are told to. */
function disk() {
  let now = 1000;
  const told: unknown[] = [];
  const made = new DirectDisk({
    limits: { ...recorderDefaults, directLook: 1000, directShare: 50, directCall: 5, directRest: 60_000 },
    now: () => now,
    onRefused: (error) => told.push(String(error)),
    onSlow: () => told.push('slow'),
  });
  return {
    ...{ made, told },
    pass(ms: number) {
      now += ms;
    },
    call(ms: number) {
      return made.ask(() => {
        now += ms;
        return 'done';
      });
    },
  };
}

it('is used as long as its calls are short', () => {
  const { made, told, call, pass } = disk();
  for (let count = 0; count < 10_000; count += 1) {
    expect(call(4)).toBe('done');
    pass(5);
  }
  expect([made.isOn, told]).toEqual([true, []]);
});

it('is left alone for a while when the thread waits for it more than for all else', () => {
  const { made, told, call, pass } = disk();
  for (let count = 0; count < 126; count += 1) call(4);
  expect([made.isOn, told]).toEqual([false, ['slow']]);
  pass(59_999);
  expect(made.isOn).toBe(false);
  pass(1);
  expect(made.isOn).toBe(true);
  // Told once.
  call(501);
  expect([made.isOn, told]).toEqual([false, ['slow']]);
});

it('is left alone when it takes long for each call, however few there are', () => {
  const { made, call, pass } = disk();
  for (let count = 0; count < 15; count += 1) {
    call(8);
    pass(30);
  }
  expect(made.isOn).toBe(true);
  call(8);
  expect(made.isOn).toBe(false);
});

it('a long call now and then is no slow disk', () => {
  const { made, call, pass } = disk();
  for (let count = 0; count < 100; count += 1) {
    for (let short = 0; short < 10; short += 1) call(1);
    for (let long = 0; long < 9; long += 1) call(40);
    pass(700);
  }
  expect(made.isOn).toBe(true);
});

it('one that knows no such calls is never asked again; what it says otherwise is for the caller', () => {
  const { made, told } = disk();
  const fail = (code: string) =>
    made.ask(() => {
      throw Object.assign(new Error(code), { code });
    });
  expect(() => fail('ENOSPC')).toThrow('ENOSPC');
  expect(() => fail('EIO')).toThrow('EIO');
  expect(made.isOn).toBe(true);
  expect(fail('EINVAL')).toBeUndefined();
  expect(fail('EINVAL')).toBeUndefined();
  expect([made.isOn, told]).toEqual([false, ['Error: EINVAL']]);
});
