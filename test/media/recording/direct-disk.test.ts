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
    onFailed: (error) => told.push(String(error)),
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

/** A call that fails so. */
const failing =
  ({ made }: ReturnType<typeof disk>) =>
  (code: string) =>
    made.ask(() => {
      throw Object.assign(new Error(code), { code });
    });

it('one that knows no such calls is never asked again', () => {
  const one = disk();
  const { made, told, pass } = one;
  const fail = failing(one);
  expect(fail('EINVAL')).toBeUndefined();
  expect(fail('EINVAL')).toBeUndefined();
  pass(60_000);
  expect([made.isOn, told]).toEqual([false, ['Error: EINVAL']]);
});

it('one that is full says so to the caller, and is asked again', () => {
  const one = disk();
  for (const code of ['ENOSPC', 'EDQUOT', 'EFBIG']) expect(() => failing(one)(code)).toThrow(code);
  expect([one.made.isOn, one.told]).toEqual([true, []]);
});

it.each(['EIO', 'EPERM', 'ENOSYS'])(
  'one that fails with %s is left alone for a while: it may take the ordinary way',
  (code) => {
    const one = disk();
    const { made, told, pass } = one;
    const fail = failing(one);
    expect(() => fail(code)).toThrow(code);
    expect([made.isOn, told]).toEqual([false, [`Error: ${code}`]]);
    pass(60_000);
    expect(made.isOn).toBe(true);
    // Told once.
    expect(() => fail(code)).toThrow(code);
    expect([made.isOn, told]).toEqual([false, [`Error: ${code}`]]);
  },
);
