import { expect, it } from 'vitest';
import type { PublishedPart } from '../../runtime/media/publish/subscriber.ts';
import { openGrowingFile } from '../../runtime/media/recording/file/growing-file.ts';
import { atOnce } from './at-once.ts';
import { apply, type RunOptions, runSteps, type Step } from './fragments.ts';
import { MemoryIo } from './memory-io.ts';

/** Runs of two seconds, two parts a second, in which other parts than usual begin a segment. */
function given(options: Partial<RunOptions>, ...runs: Partial<PublishedPart>[][]) {
  const io = new MemoryIo();
  const file = atOnce(openGrowingFile(io));
  for (const changes of runs) {
    let number = -1;
    for (const step of runSteps({ seconds: 2, ...options })) {
      if ('part' in step) number += 1;
      const changed: Step = 'part' in step ? { ...step, part: { ...step.part, ...changes[number] } } : step;
      apply(file, changed);
    }
    apply(file, { pause: true });
  }
  const rows = (one = file) => Array.from({ length: one.count }, (_, number) => one.segment(number));
  return { io, rows };
}

const goesOn = { startsSegment: true, isIndependent: false };

it('the second segment of a run belongs to the first, which has its key frame', () => {
  const { io, rows } = given({}, [{}, goesOn], [{}, goesOn]);
  const segments = rows();
  expect(segments.map(({ duration, isDiscontinuity }) => [duration.toFixed(1), isDiscontinuity])).toEqual([
    ['1.0', false],
    ['1.0', false],
    ['1.0', true],
    ['1.0', false],
  ]);
  for (const [number, { at, size }] of segments.entries()) {
    expect(Buffer.from(io.bytes.subarray(at + 4, at + 8)).toString()).toBe('moof');
    const next = segments[number + 1];
    if (next && !next.isDiscontinuity) expect(next.at).toBeGreaterThan(at + size);
  }
  // As they are found again.
  expect(rows(atOnce(openGrowingFile(io)))).toEqual(segments);
});

it('one that begins with a key frame is a segment of its own', () => {
  const { rows } = given({ gop: 15 }, [{}, { startsSegment: true }]);
  expect(rows().map(({ duration }) => duration.toFixed(1))).toEqual(['0.5', '0.5', '0.5', '0.5']);
});
