/** What the tests of downloads share: a client, and servers that break off. */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Intake } from '../../../core/ports/intake.ts';
import { type DownloadOptions, download } from '../../../plugins/assets/imports/download.ts';
import { type Source, sourceOf } from '../../../plugins/assets/imports/source.ts';
import { transferLimits } from '../../../plugins/assets/imports/transfer.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { diskIntake } from '../../../runtime/drivers/intake/intake.ts';
import { client, type Received, receiver } from '../../outbound/kit.ts';

export const film = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 251));
export const tag = '"one"';

/** Time is short here: pauses are over at once, and kept; what lasts longer is never over. */
function hastyClock(): Clock & { readonly pauses: number[] } {
  const clock = systemClock();
  const pauses: number[] = [];
  let asked = clock.now();
  return {
    pauses,
    now() {
      asked = clock.now();
      return asked;
    },
    at(due, action) {
      // From when whoever waits took the time, however long ago that was.
      const wait = due - asked;
      if (wait > transferLimits.importPause) return () => {};
      pauses.push(wait);
      return clock.at(clock.now(), action);
    },
  };
}

/** What takes files in from the servers of a test. */
export async function studio(
  options: { lookup?: () => Promise<string[]>; intake?: Pick<Intake, 'receive'> } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-import-'));
  const own = diskIntake({ folder, clock: systemClock(), reserve: 0 });
  await own.open();
  const clock = hastyClock();
  const outbound = client(options.lookup ? { lookup: options.lookup } : {});
  const ending = new AbortController();
  const told: number[] = [];
  const spool = () => readdir(folder);
  return {
    ...{ clock, ending, told, spool },
    async fetch(
      from: string | Source,
      given: Partial<Omit<DownloadOptions, 'limits'>> & { limits?: Partial<DownloadOptions['limits']> } = {},
    ) {
      const { limits, ...rest } = given;
      const file = await download(typeof from === 'string' ? (sourceOf(from) as Source) : from, {
        ...{ outbound, clock, intake: options.intake ?? own, account: 'a', signal: ending.signal },
        ...{ most: 10_000_000, time: 3_600_000, progress: (fraction: number) => void told.push(fraction) },
        ...rest,
        limits: { ...transferLimits, ...limits },
      });
      const bytes = await readFile(file.path);
      expect(file.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
      await file.discard();
      expect(await spool()).toEqual([]);
      return bytes;
    },
    async [Symbol.asyncDispose]() {
      outbound.close();
      expect(await spool()).toEqual([]);
      await own.close();
      await rm(folder, { recursive: true });
    },
  };
}

export const headerOf = ({ head }: Received, name: string) =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1].trim();
export const rangeOf = (request: Received) =>
  Number(/bytes=(\d+)-$/.exec(headerOf(request, 'range') ?? '')?.[1] ?? Number.NaN);

export function answer(
  status: number,
  { body = Buffer.alloc(0), length = body.length, headers = {} }: Answer = {},
): Buffer {
  const lines = Object.entries({ ...(length !== null && { 'content-length': length }), ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Said\r\n${head}\r\n`), body]);
}
interface Answer {
  body?: Buffer;
  /** null: nothing is said. */
  length?: number | null;
  headers?: Record<string, string | number>;
}

/**
 * A server that has a film, and closes each connection after so many bytes of it, until it has done so `breaks` times. What it has of
 * the rest is up to `rest`; by default it does as it should.
 */
export async function breaking(options: {
  breaks?: number;
  after?: number;
  headers?: Record<string, string>;
  file?: Buffer;
  rest?(request: Received, at: number): Buffer;
}) {
  const { breaks = 1, after = 100_000, headers = { etag: tag }, file = film } = options;
  let sent = 0;
  let count = 0;
  const partial = (_: Received, at: number) =>
    answer(206, {
      body: file.subarray(at),
      headers: { ...headers, 'content-range': `bytes ${at}-${file.length - 1}/${file.length}` },
    });
  const server = await receiver((request) => {
    const at = rangeOf(request);
    const all = Number.isNaN(at)
      ? answer(200, { body: file, headers })
      : (options.rest ?? partial)(request, at);
    const head = all.indexOf('\r\n\r\n') + 4;
    const isCut = count++ < breaks;
    const given = isCut ? all.subarray(0, head + after) : all;
    sent += given.length - head;
    if (!isCut) return given;
    request.socket.end(given);
    return undefined;
  });
  return Object.assign(server, { sent: () => sent });
}
