/**
 * Makes the films that the fuzzer damages: `seeds/<name>.mp4`, each some KB.
 * Run it again when there is another kind of file to know: node_modules/.bin/bun test/fuzz/mp4/record.ts
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const folder = join(import.meta.dirname, 'seeds');
const picture = ['-f', 'lavfi', '-i', 'color=s=32x32:r=10:d=2'];
const sound = ['-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono,atrim=end=2'];
const x264 = ['-c:v', 'libx264', '-preset', 'medium', '-bf', '2', '-g', '5', '-pix_fmt', 'yuv420p'];
const aac = ['-c:a', 'aac', '-b:a', '8k'];
const both = [...picture, ...sound, ...x264, ...aac];
const fragments = (flags: string) => [...both, '-movflags', `frag_keyframe+${flags}`];

const films: Record<string, string[]> = {
  'plain.mp4': both,
  'in-front.mp4': [...both, '-movflags', '+faststart'],
  'fragments.mp4': fragments('empty_moov+default_base_moof'),
  'fragments-absolute.mp4': fragments('delay_moov'),
  'fragments-behind-moov.mp4': fragments('default_base_moof'),
  'quicktime.mov': [...both, '-timecode', '00:00:00:00'],
  'sound.m4a': [...sound, ...aac],
};

for (const [name, args] of Object.entries(films)) {
  execFileSync('ffmpeg', ['-v', 'error', '-y', ...args, '-fflags', '+bitexact', join(folder, name)]);
}
