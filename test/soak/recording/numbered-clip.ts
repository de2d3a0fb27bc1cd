import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '../../../bench/harness/children.ts';
import { SQUARES } from '../../kit/frame-number.ts';

/** 11 min of 360p30, a key frame every 2 s, B-frames; every picture has its own number, which `readFrameNumber` reads. */
export const numbered = { fps: 30, seconds: 660, gop: 2, rate: 2_400_000, soundRate: 96_000 } as const;

/** Its path: an FLV file with H.264 and AAC, made once by ffmpeg and kept in the system's temporary folder. */
export async function numberedClip(): Promise<string> {
  const { fps, seconds, gop, rate, soundRate } = numbered;
  const folder = join(tmpdir(), 'millrace-bench-clips');
  const path = join(folder, `numbered-360p${fps}-${rate}-${seconds}s.flv`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  console.log(`making ${path} …`);
  const unfinished = `${path}.${process.pid}.flv`;
  const ffmpeg = start([
    ...'ffmpeg -hide_banner -loglevel error -y -f lavfi -i'.split(' '),
    `testsrc2=size=${width}x360:rate=${fps},${paintNumber()}`,
    ...`-f lavfi -i sine=frequency=440:sample_rate=48000 -t ${seconds}`.split(' '),
    ...`-c:v libx264 -preset ultrafast -pix_fmt yuv420p -bf 2 -g ${gop * fps} -keyint_min ${gop * fps}`.split(
      ' ',
    ),
    ...`-sc_threshold 0 -b:v ${rate} -minrate ${rate} -maxrate ${rate} -bufsize ${rate}`.split(' '),
    ...`-x264-params nal-hrd=cbr:force-cfr=1 -c:a aac -b:a ${soundRate} -f flv ${unfinished}`.split(' '),
  ]);
  const code = await ffmpeg.exited;
  if (code !== 0) throw new Error(`ffmpeg could not make the clip (${code}): ${ffmpeg.output}`);
  renameSync(unfinished, path);
  return path;
}

const width = 640;

/** The filters that paint what test/kit/clip/make-clip.ts paints, at half its size. */
function paintNumber(): string {
  const { frameWidth, bits, size, pitch, left, top, margin } = SQUARES;
  const scale = width / frameWidth;
  const box = (x: number, y: number, w: number, h: number, colour: string) =>
    `drawbox=x=${x * scale}:y=${y * scale}:w=${w * scale}:h=${h * scale}:color=${colour}:t=fill`;
  const panel = (bits - 1) * pitch + size + 2 * margin;
  const squares = Array.from({ length: bits }, (_, bit) => {
    const paint = (colour: string) => box(left + bit * pitch, top, size, size, colour);
    return `${paint('black')},${paint('white')}:enable='bitand(n\\,${1 << (bits - 1 - bit)})'`;
  });
  return [box(left - margin, top - margin, panel, size + 2 * margin, '0x808080'), ...squares].join(',');
}
