import { describe, expect, it } from 'vitest';
import { openTakeFile } from '../../runtime/media/recording/file/open-take-file.ts';
import { apply, runSteps } from './fragments.ts';
import { MemoryIo } from './memory-io.ts';

describe('the file of a take', () => {
  it('begins, grows, and is finished', () => {
    const io = new MemoryIo();
    const file = openTakeFile(io);
    for (const step of runSteps({ seconds: 4 })) apply(file, step);
    expect(file.count).toBe(3);
    const finished = file.finish();
    expect(file.count).toBe(4);
    expect(finished?.size).toBe(io.size);
    expect(finished?.spec).toMatchObject({
      format: 'mp4',
      duration: 4.011,
      tracks: [{ codec: 'h264', fps: 30 }, { codec: 'aac' }],
    });
    const whole = io.bytes;
    const again = openTakeFile(io);
    expect(again.finish()).toEqual(finished);
    expect(io.bytes).toEqual(whole);
  });
});
