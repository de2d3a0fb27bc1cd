/** A transcoder on a scripted ffmpeg. */
import { expect } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import type { LadderMedia } from '../../runtime/media/renditions/ladder.ts';
import { type NodeTranscoderOptions, nodeTranscoder } from '../../runtime/media/renditions/transcoder.ts';
import { type ScriptedProcess, scriptedFfmpeg } from '../kit/scripted-ffmpeg.ts';
import { type ScriptedLadder, scriptedLadder } from '../kit/scripted-ladder.ts';
import { type VirtualClock, virtualClock } from '../kit/virtual-clock.ts';

const settings = {
  ...{ encoder: 'libx264', preset: 'veryfast', device: undefined, threads: 2, niceness: 5 },
  ...{ stall: 6000, behind: 4000, patience: 5000, retryMost: 30_000 },
};
/** What each process counts as. */
export const base = 1_000_000;
/** Pixels a second of both renditions of a 720p30 source, with those that are decoded. */
export const ladderPixels = (854 * 480 + 426 * 240 + (1280 * 720) / 4) * 30 + base;
export const init: LadderMedia = { bytes: Buffer.from('init'), pictures: undefined };
/** A second of `fps` pictures that begins `second` seconds in. */
export const pictures = (second: number, fps = 30): LadderMedia => ({
  bytes: Buffer.from('pictures'),
  pictures: { count: fps, start: second, end: second + 1 },
});

const begun: { clock: VirtualClock; close(): void }[] = [];
/** After each test. */
export async function endAll() {
  for (const { clock, close } of begun.splice(0)) {
    close();
    await clock.advance(0);
    expect(clock.pending(), 'timers that were left').toBe(0);
  }
}

export function given(options: Partial<NodeTranscoderOptions> = {}) {
  const clock = virtualClock({ start: 0 });
  const lines: string[] = [];
  const script: Parameters<typeof scriptedFfmpeg>[0] = { obeys: true };
  const ffmpeg = scriptedFfmpeg(script);
  const transcoder = nodeTranscoder({
    ...{ clock, runner: ffmpeg, random: () => 0, settings, capacity: 10 * ladderPixels, processes: 50 },
    log: jsonLog({ level: 'info', now: clock.now, write: (line) => lines.push(JSON.parse(line).message) }),
    ...options,
  });
  begun.push({ clock, close: transcoder.close });
  const begin = async (ladder: ScriptedLadder = scriptedLadder()) => {
    const stop = transcoder.begin(ladder);
    await clock.advance(0);
    return { ladder, stop };
  };
  const reading = () => transcoder.readings()[0];
  const last = () => ffmpeg.started.at(-1) as ScriptedProcess;
  return { clock, lines, script, ffmpeg, transcoder, begin, reading, last };
}
