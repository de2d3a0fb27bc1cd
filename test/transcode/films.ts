import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

export const exec = promisify(execFile);

/** ffmpeg, with these arguments; what it complains about. Throws when it fails. */
export async function ffmpeg(...args: readonly string[]): Promise<string> {
  const { stderr } = await exec('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...args], { maxBuffer: 2 ** 24 });
  return stderr;
}

/** Pictures that have their number in them: eight fields from left to right, each a bit, the least first; 30 a second. */
export function numbered(seconds: number, size = '1280x720'): string[] {
  const bits = "geq=lum='if(mod(floor(N/pow(2,floor(X/2))),2),235,16)':cb=128:cr=128";
  const source = `nullsrc=s=16x16:r=30:d=${seconds},${bits},scale=${size.replace('x', ':')}:flags=neighbor,setsar=1`;
  return ['-f', 'lavfi', '-i', source];
}

export const sound = (seconds: number): string[] => [
  ...['-f', 'lavfi', '-i', `sine=frequency=440:sample_rate=48000:duration=${seconds}`],
];

/** The number in the picture of a file, or of a playlist, that is shown at `time` (s) or first after it. */
export async function numberAt(file: string, time: number): Promise<number> {
  const args = ['-v', 'error', '-nostdin', '-i', file, '-ss', `${time}`, '-frames:v', '1'];
  const asBytes = ['-vf', 'scale=8:1:flags=area,format=gray', '-f', 'rawvideo', 'pipe:1'];
  const { stdout } = Bun.spawn(['ffmpeg', ...args, ...asBytes], { stdin: 'ignore' });
  const fields = [...(await new Response(stdout).bytes())];
  if (fields.length !== 8) throw new Error(`there is no picture at ${time} s of ${file}`);
  return fields.reduce((sum, light, bit) => sum + (light > 128 ? 2 ** bit : 0), 0);
}

/** What ffprobe says of a file. */
// biome-ignore lint/suspicious/noExplicitAny: JSON of another program
export async function probe(file: string): Promise<any> {
  const args = ['-v', 'error', '-count_packets', '-show_streams', '-show_format', '-of', 'json', file];
  return JSON.parse((await exec('ffprobe', args)).stdout);
}

/** Processes that say that this server started them. */
export async function processesOf(server: number): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    const environment = /^\d+$/.test(name)
      ? await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '')
      : '';
    if (new RegExp(`(?:^|\\0)MILLRACE_FFMPEG_OF=\\w+-${server}-`).test(environment)) found.push(Number(name));
  }
  return found;
}
