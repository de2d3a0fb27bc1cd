import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** How many pictures a player came to from the first to the last, and every word of complaint. */
export interface Played {
  readonly pictures: number;
  readonly complaints: string;
}

/** ffprobe counts, then ffmpeg decodes picture and sound. */
export async function playByFfmpeg(url: string): Promise<Played> {
  const options = ['-v', 'error', '-count_frames', '-select_streams', 'v', '-show_entries'];
  const probed = await run('ffprobe', [...options, 'stream=nb_read_frames', '-of', 'csv=p=0', url]);
  const decoded = await run('ffmpeg', ['-nostdin', '-v', 'error', '-i', url, '-f', 'null', '-']);
  return { pictures: Number.parseInt(probed.stdout, 10), complaints: probed.stderr + decoded.stderr };
}

/** What a bare uridecodebin is linked to by gst-launch it loses at a seam; players are made of playbin. */
export async function playByGstreamer(url: string): Promise<Played> {
  const sinks = [
    'video-sink=fakesink name=pictures silent=false sync=false',
    'audio-sink=fakesink sync=false',
  ];
  const { stdout, stderr } = await run('gst-launch-1.0', ['-v', 'playbin', `uri=${url}`, ...sinks], {
    ...{ timeout: 60_000, maxBuffer: 64 << 20 },
  });
  return { pictures: stdout.match(/pictures: last-message = chain /g)?.length ?? 0, complaints: stderr };
}
