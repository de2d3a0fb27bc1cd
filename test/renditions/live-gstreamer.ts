import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../e2e/harness/wait.ts';

/**
 * Lets GStreamer play so many pictures of a playlist that never ends; answers what it complained about. One that stands still
 * without a word, as it does now and then with any live playlist, is begun anew.
 */
export async function watchByGstreamer(url: string, options: { pictures: number }): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const sinks = ['video-sink=fakesink name=pictures silent=false', 'audio-sink=fakesink sync=false'];
    const child = spawn('gst-launch-1.0', ['-v', 'playbin3', `uri=${url}`, ...sinks]);
    let pictures = 0;
    let complaints = '';
    child.stdout.on('data', (text) => {
      pictures += String(text).match(/pictures: last-message = chain /g)?.length ?? 0;
    });
    child.stderr.on('data', (text) => (complaints += text));
    try {
      await until(
        `${options.pictures} pictures in GStreamer`,
        () => {
          if (pictures >= options.pictures || child.exitCode !== null) return true;
          throw new Error(`${pictures}; ${complaints}`);
        },
        { within: options.pictures * 40 + 20_000 },
      );
      if (pictures < options.pictures) throw new Error(`GStreamer ended after ${pictures}: ${complaints}`);
      return complaints;
    } catch (error) {
      if (complaints !== '' || attempt === attempts) throw error;
    } finally {
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
      }
    }
  }
}

const attempts = 3;
