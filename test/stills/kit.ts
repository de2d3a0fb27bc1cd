import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StillMedia, StillOrder, StillSource } from '../../core/ports/stills.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { ffmpegRunner } from '../../runtime/media/ffmpeg/runner.ts';
import { ffmpegStills } from '../../runtime/media/stills/stills.ts';
import { silentLog } from '../kit/silent-log.ts';

const run = promisify(execFile);

/** Stills with a real ffmpeg, or the program at `path`. */
export function realStills(options: { path?: string; deadline?: number } = {}) {
  const clock = systemClock();
  const runner = ffmpegRunner({ clock, log: silentLog, ...(options.path && { path: options.path }) });
  const { deadline = 10_000 } = options;
  const stills = ffmpegStills({
    ...{ clock, log: silentLog, runner, deadline },
    running: 2,
    memory: 64 << 20,
  });
  return {
    stills,
    runner,
    [Symbol.dispose]() {
      stills.close();
      runner.close();
    },
  };
}

/** A fragmented mp4 by ffmpeg: its init, and each fragment as a segment of its own. */
export async function fragmentsOf(
  folder: string,
  { name, args }: { name: string; args: readonly string[] },
): Promise<{ init: Buffer; segments: Buffer[] }> {
  const path = join(folder, `${name}.mp4`);
  const flags = ['-movflags', 'frag_keyframe+empty_moov+default_base_moof', '-f', 'mp4'];
  await run('ffmpeg', ['-v', 'error', '-y', ...args, ...flags, path]);
  const bytes = Buffer.from(await Bun.file(path).bytes());
  const segments: Buffer[] = [];
  let init = 0;
  for (let at = 0; at < bytes.length; ) {
    const type = bytes.toString('latin1', at + 4, at + 8);
    const size = bytes.readUInt32BE(at);
    if (type === 'moof') {
      const end = at + size + bytes.readUInt32BE(at + size);
      segments.push(bytes.subarray(at, end));
      at = end;
      continue;
    }
    if (segments.length === 0) init = at + size;
    at += size;
  }
  return { init: bytes.subarray(0, init), segments };
}

export function sourceOf(
  { init, segment }: { init: Buffer; segment: Buffer },
  options: { id?: string; at?: number; read?: (range: { from: number; to: number }) => void } = {},
): StillSource {
  const { id = 'a', at, read: onRead } = options;
  return {
    init: { id, read: async () => init },
    open: () => ({
      size: segment.length,
      async read(range) {
        onRead?.(range);
        return segment.subarray(range.from, range.to);
      },
    }),
    ...(at !== undefined && { at }),
  };
}

let keys = 0;
export function orderOf(media: Partial<StillMedia>, options: Partial<StillOrder> = {}): StillOrder {
  keys += 1;
  const key = `k${keys}`;
  const whole = { pictures: [], columns: 1, width: 640, height: 640, ...media };
  return {
    ...{ kind: 'asset', key, of: key, signal: new AbortController().signal },
    open: () => whole,
    ...options,
  };
}
