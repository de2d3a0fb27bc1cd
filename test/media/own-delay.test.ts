import { expect, test } from 'vitest';
import { Meter } from '../../runtime/media/live/meter.ts';
import { VIDEO } from '../../runtime/media/live/timeline.ts';
import { OwnDelay } from '../../runtime/media/publish/own-delay.ts';

const start = Date.UTC(2026, 0, 1);

/** A clock whose timers run only when told to, however late. */
class LateClock {
  time = start;
  #due: { at: number; action: () => void }[] = [];
  now = () => this.time;
  at = (at: number, action: () => void) => {
    const timer = { at, action };
    this.#due.push(timer);
    return () => {
      this.#due = this.#due.filter((one) => one !== timer);
    };
  };
  get timers(): number {
    return this.#due.length;
  }
  fire(): void {
    const due = this.#due.filter(({ at }) => at <= this.time);
    this.#due = this.#due.filter(({ at }) => at > this.time);
    for (const { action } of due) action();
  }
  run(ms: number): void {
    for (const until = this.time + ms; this.time < until; this.fire()) this.time += 10;
  }
}

function watched() {
  const clock = new LateClock();
  const delay = new OwnDelay(clock);
  const stop = delay.watch();
  return { clock, delay, stop };
}

test('a process that runs as it should has no delay of its own', () => {
  const { clock, delay } = watched();
  for (let i = 0; i < 1000; i += 1) {
    clock.run(10);
    expect(delay.isRecent(clock.time)).toBe(false);
  }
});

test('one that was held up knows it by the first message, and for as long again', () => {
  const { clock, delay } = watched();
  clock.run(1000);
  clock.time += 3000;
  expect(delay.isRecent(clock.time)).toBe(true);
  clock.fire();
  clock.run(2500);
  expect(delay.isRecent(clock.time)).toBe(true);
  clock.run(1000);
  expect(delay.isRecent(clock.time)).toBe(false);
});

test('a timer that is late tells of it too, when no message did', () => {
  const { clock, delay } = watched();
  clock.run(1000);
  clock.time += 3000;
  clock.fire();
  expect(delay.isRecent(clock.time)).toBe(true);
});

test('a machine that slept for an hour is not believed for that long', () => {
  const { clock, delay } = watched();
  clock.time += 3_600_000;
  clock.fire();
  expect(delay.isRecent(clock.time)).toBe(true);
  clock.run(10_000);
  expect(delay.isRecent(clock.time)).toBe(false);
});

test('a clock that is set back is no delay, and it goes on watching', () => {
  const { clock, delay } = watched();
  clock.time -= 60_000;
  expect(delay.isRecent(clock.time)).toBe(false);
  clock.run(120_000);
  clock.time += 3000;
  expect(delay.isRecent(clock.time)).toBe(true);
});

test('it stops', () => {
  const { clock, stop } = watched();
  stop();
  expect(clock.timers).toBe(0);
});

test('what came while the process was held up is no jitter and not late', () => {
  const { clock, delay } = watched();
  const meter = new Meter({ delay });
  let media = 0;
  const send = (ms: number) => {
    for (const until = media + ms; media < until; media += 40) {
      meter.count(1000, clock.time);
      meter.pass(VIDEO, media, clock.time);
    }
  };
  for (let i = 0; i < 250; i += 1) {
    clock.run(40);
    send(40);
  }
  clock.time += 4000;
  send(4000);
  clock.fire();
  for (let i = 0; i < 250; i += 1) {
    clock.run(40);
    send(40);
    expect(meter.vitals([], clock.time)).toMatchObject({ late: 0, gapTime: 0 });
    expect(meter.vitals([], clock.time).jitter).toBeLessThan(100);
  }
});
