import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Config } from '../config/schema.ts';
import packageJson from '../package.json' with { type: 'json' };
import type { Finding } from './finding.ts';
import { bytes } from './table.ts';

const mebibyte = 1_048_576;
/** Free space below which a film or a long recording may not fit. */
const comfortable = 10_000_000_000;
/** How long ffmpeg may take, ms. */
const ffmpegTime = 30_000;
/** Nothing of this program is older. */
const firstYear = 2026;

export function versionFinding(): Finding {
  const says = `Millrace ${packageJson.version}, Bun ${Bun.version}`;
  const wanted = packageJson.dependencies.bun;
  return Bun.version === wanted
    ? { state: 'ok', about: 'version', says }
    : {
        state: 'warn',
        about: 'version',
        says: `${says}; tested with Bun ${wanted}. Install it: npm install`,
      };
}

export async function diskFindings({ dataDir, recording, uploads }: Config): Promise<readonly Finding[]> {
  const folder = resolve(dataDir);
  const present = nearest(folder);
  const isWritable = await access(present, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isWritable)
    return [
      finding(
        'bad',
        `${present} cannot be written by this user. Change its owner, or dataDir in the config.`,
      ),
    ];
  const { bavail, bsize } = await statfs(present);
  const free = bavail * bsize;
  const reserve = recording.reserve * mebibyte;
  const forUploads = (uploads.reserve ?? 2 * recording.reserve) * mebibyte;
  const says = `${bytes(free)} free in ${folder}`;
  if (free < reserve)
    return [
      finding(
        'bad',
        `${says}: nothing is recorded below ${bytes(reserve)}. Free some space, or move dataDir.`,
      ),
    ];
  if (free < forUploads)
    return [
      finding(
        'bad',
        `${says}: uploads are refused below ${bytes(forUploads)}. Free some space, or move dataDir.`,
      ),
    ];
  if (free < comfortable)
    return [finding('warn', `${says}, an hour of 4 Mbit/s is 1.8 GB. Free some space, or move dataDir.`)];
  return [finding('ok', says)];

  function finding(state: Finding['state'], text: string): Finding {
    return { state, about: 'disk', says: text };
  }
}

/** The folder, or the first one above it that exists. */
function nearest(folder: string): string {
  return existsSync(folder) || folder === dirname(folder) ? folder : nearest(dirname(folder));
}

export async function ffmpegFindings({ ffmpeg, renditions }: Config): Promise<readonly Finding[]> {
  const path = ffmpeg.path ?? Bun.which('ffmpeg');
  if (path === null) {
    const says =
      'not on the PATH: no renditions, stills, transcodes, SRT or conversions. Install it, or set ffmpeg.path.';
    return [{ state: 'warn', about: 'ffmpeg', says }];
  }
  const ask = async (...words: readonly string[]) =>
    (await promisify(execFile)(path, ['-hide_banner', ...words], { timeout: ffmpegTime })).stdout;
  try {
    const [about, encoders] = await Promise.all([ask('-version'), ask('-encoders')]);
    const version = /^ffmpeg version (\S+)/m.exec(about)?.[1] ?? 'of an unknown version';
    const missing = [renditions.encoder, 'aac'].filter(
      (name) => !new RegExp(`^ [VA]\\S+ ${name} `, 'm').test(encoders),
    );
    if (missing.length === 0) return [{ state: 'ok', about: 'ffmpeg', says: `${version} at ${path}` }];
    const says = `${version} at ${path} has no encoder ${missing.join(' and no encoder ')}. Install a build that has, or change renditions.encoder.`;
    return [{ state: 'warn', about: 'ffmpeg', says }];
  } catch (error) {
    const why = (error as Error).message.split('\n')[0];
    const says = `${path} does not run: ${why}. Install it again, or set ffmpeg.path.`;
    return [{ state: 'bad', about: 'ffmpeg', says }];
  }
}

/** Nodes compare their clocks, and receivers of webhooks refuse a signature that is minutes old. */
export function clockFinding({ preset }: Config): Finding {
  const now = new Date();
  const says = `${now.toISOString()}`;
  if (now.getFullYear() < firstYear)
    return {
      state: 'bad',
      about: 'clock',
      says: `${says} is in the past. Set the clock, and start an NTP service.`,
    };
  const isSynchronised = [
    '/run/systemd/timesync/synchronized',
    '/run/chrony/chronyd.pid',
    '/run/chrony',
  ].some((path) => existsSync(path));
  if (isSynchronised) return { state: 'ok', about: 'clock', says: `${says}, kept by NTP` };
  if (preset !== 'cluster')
    return { state: 'ok', about: 'clock', says: `${says}; no NTP service of this machine was found` };
  const advice =
    'no NTP service was found, and nodes of a fleet need the same time. Start chrony or systemd-timesyncd.';
  return { state: 'warn', about: 'clock', says: `${says}; ${advice}` };
}
