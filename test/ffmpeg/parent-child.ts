/** A server that starts processes of a fake ffmpeg (`argv[2]`) that never end by themselves, and prints their ids. */
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { ffmpegRunner } from '../../runtime/media/ffmpeg/runner.ts';
import { silentLog } from '../kit/silent-log.ts';
import { anyCommand } from './fake.ts';

const [, , path, count, search] = process.argv;
const runner = ffmpegRunner({
  clock: systemClock(),
  log: silentLog,
  path,
  env: { PATH: search },
  sweepDelay: 3_600_000,
});
const pids: number[] = [];
for (let number = 0; number < Number(count); number += 1) {
  const started = await runner.start({ command: anyCommand, handlers: {} });
  if (started.ok) pids.push(started.pid);
}
process.stdout.write(`${JSON.stringify(pids)}\n`);
