/**
 * Recordings that are long: by ffmpeg over several connections in real time, and of hours, which are replayed faster than
 * that. Prints what was measured and whether it is as it must be. Run: npm run soak -- recording <case>
 */
import { parseArgs } from 'node:util';
import { lengths } from './lengths.ts';
import { long } from './long.ts';
import { verdict } from './verdict.ts';

const usage = `npm run soak -- recording <case> [options]
  long        a broadcast by ffmpeg with two reconnects, one within hold, one after idle
  lengths     one minute and two hours, replayed: time until ready, memory, hashes, seeking
options
  --minutes   of media: 10 for long, 120 for lengths
  --speed 60  lengths: times as fast as real time
  --first     the server has priority over everything on a shared machine (root)`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string' },
    speed: { type: 'string', default: '60' },
    first: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [name] = positionals;
const on = verdict();
const isFirst = values.first;
const cases: Readonly<Record<string, () => Promise<void>>> = {
  long: () => long(on, { minutes: Number(values.minutes ?? 10), isFirst }),
  lengths: () =>
    lengths(on, { minutes: Number(values.minutes ?? 120), speed: Number(values.speed), isFirst }),
};
const run = cases[name ?? ''];
if (values.help || !run) {
  console.log(usage);
  process.exit(values.help ? 0 : 2);
}
await run();
process.exit(on.finish() ? 0 : 1);
