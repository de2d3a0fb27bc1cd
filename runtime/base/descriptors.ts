import { readFile } from 'node:fs/promises';

/** Descriptors that HTTP never takes, where there are twice as many. */
const keptFromHttp = 2048;
/** Those that neither HTTP nor RTMP takes, where there are enough: for the store, files, ffmpeg and outbound requests. */
const keptFromBoth = 1024;

/** How many connections the descriptor limit of the process allows. */
export interface DescriptorShares {
  /** Descriptors that this process may open. */
  readonly limit: number;
  readonly http: number;
  readonly rtmp: number;
}

/** Shares of the descriptors of this process; undefined where the system does not name its limit (it is not Linux). */
export async function descriptorShares(): Promise<DescriptorShares | undefined> {
  const text = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  // The soft limit; Bun has raised it to the hard one.
  const [, soft] = /^Max open files +(\d+) /m.exec(text) ?? [];
  return soft === undefined ? undefined : sharesOf(Number(soft));
}

/** HTTP gets half of a low limit and three quarters of a high one. RTMP gets half of the rest, or more of a high one. */
export function sharesOf(limit: number): DescriptorShares {
  const kept = Math.max(limit / 4, Math.min(limit / 2, keptFromHttp));
  return {
    limit,
    http: Math.max(1, Math.floor(limit - kept)),
    rtmp: Math.max(1, Math.floor(Math.max(kept / 2, kept - keptFromBoth))),
  };
}
