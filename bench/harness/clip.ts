import { existsSync, renameSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from './children.ts';

/** Length of the clip, seconds; a multiple of the key frame interval. */
const duration = 20;
/** Bits per second of the picture and of the sound, both constant. */
const videoRate = 3_000_000;
const audioRate = 128_000;

/** What every stream of a benchmark carries, for a table's foot. */
export const clipWords = `${(videoRate + audioRate) / 1e6} Mb/s: H.264 720p30 with B-frames, CBR ${videoRate / 1e6} Mb/s, 2 s GOP, AAC ${audioRate / 1000} kb/s`;

/** An FLV file for load: made once by ffmpeg, kept in the system's temporary folder. Rates in bits per second. */
export async function loadClip({ video = videoRate, audio = audioRate } = {}): Promise<string> {
  const folder = join(tmpdir(), 'millrace-bench-clips');
  const path = join(folder, `720p30-${video}-${audio}-${duration}s.flv`);
  if (existsSync(path)) return path;
  await mkdir(folder, { recursive: true });
  console.log(`making ${path} …`);
  const unfinished = `${path}.${process.pid}.flv`;
  const rate = String(video);
  const ffmpeg = start(
    [
      'ffmpeg -hide_banner -loglevel error -y',
      '-f lavfi -i testsrc2=size=1280x720:rate=30',
      '-f lavfi -i sine=frequency=440:sample_rate=48000',
      `-t ${duration} -c:v libx264 -preset veryfast -pix_fmt yuv420p -bf 2 -g 60 -keyint_min 60 -sc_threshold 0`,
      // Constant with filler, so that a still picture weighs as much as a lively one.
      `-b:v ${rate} -minrate ${rate} -maxrate ${rate} -bufsize ${rate} -x264-params nal-hrd=cbr:force-cfr=1`,
      `-c:a aac -b:a ${audio} -f flv ${unfinished}`,
    ].flatMap((line) => line.split(' ')),
  );
  const code = await ffmpeg.exited;
  if (code !== 0) throw new Error(`ffmpeg could not make the clip (${code}): ${ffmpeg.output}`);
  renameSync(unfinished, path);
  console.log(`${((statSync(path).size * 8) / duration / 1e6).toFixed(2)} Mb/s`);
  return path;
}
