import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** How many pictures a player came to from the first to the last, and every word of complaint. */
export interface Played {
  readonly pictures: number;
  readonly complaints: string;
}

/** What ffmpeg complains about when it decodes picture and sound, as a person would have it played. */
export async function complaintsOfFfmpeg(url: string): Promise<string> {
  // Behind a seam pictures may lie in the middle of two ticks of a frame rate: in the time base of the film none falls on another.
  const plain = ['-enc_time_base:v', '-1', '-f', 'null', '-'];
  return (await run('ffmpeg', ['-nostdin', '-v', 'error', '-i', url, ...plain])).stderr;
}

/** ffprobe counts, then ffmpeg decodes. */
export async function playByFfmpeg(url: string): Promise<Played> {
  const options = ['-v', 'error', '-count_frames', '-select_streams', 'v', '-show_entries'];
  const probed = await run('ffprobe', [...options, 'stream=nb_read_frames', '-of', 'csv=p=0', url]);
  const complaints = probed.stderr + (await complaintsOfFfmpeg(url));
  return { pictures: Number.parseInt(probed.stdout, 10), complaints };
}

/**
 * What a bare uridecodebin is linked to by gst-launch it loses at a seam; players are made of playbin. That stands still now and
 * then before its first picture (1 run in 6 here), and is begun anew: what a server does not answer stands still each time.
 */
export async function playByGstreamer(url: string): Promise<Played> {
  const sinks = [
    'video-sink=fakesink name=pictures silent=false sync=false',
    'audio-sink=fakesink sync=false',
  ];
  for (let attempt = 1; ; attempt++) {
    try {
      const { stdout, stderr } = await run('gst-launch-1.0', ['-v', 'playbin', `uri=${url}`, ...sinks], {
        ...{ timeout: 25_000, killSignal: 'SIGKILL', maxBuffer: 64 << 20 },
      });
      return { pictures: stdout.match(/pictures: last-message = chain /g)?.length ?? 0, complaints: stderr };
    } catch (error) {
      if (!(error as { killed?: boolean }).killed || attempt === attempts) throw error;
    }
  }
}

const attempts = 4;
