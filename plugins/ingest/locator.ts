import { readFile, stat } from 'node:fs/promises';
import { type CityResponse, Reader } from 'mmdb-lib';
import { Fault } from '../../core/base/fault.ts';
import { regularly } from '../../core/base/timing.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { token } from '../../core/plugin/token.ts';

/** Between two checks whether the database has changed, ms. */
const checkInterval = 60_000;

/** On the earth, degrees. */
export interface Location {
  readonly latitude: number;
  readonly longitude: number;
}

/** Knows where addresses are. */
export interface Locator {
  /** Undefined for an address that is in no database. */
  locate(address: string | undefined): Location | undefined;
  /** ISO 3166-1 alpha-2; undefined where it is unknown. */
  countryOf(address: string | undefined): string | undefined;
  stop(): Promise<void>;
}

export const locator = token<Locator>('ingest.locator');

/** Without a database all locations are unknown. */
export const noLocator: Locator = {
  locate: () => undefined,
  countryOf: () => undefined,
  stop: async () => {},
};

/**
 * Reads a database of the MaxMind DB format (version 2.0) with `location.latitude`, `.longitude` and `country.iso_code` into memory,
 * and again when the file has changed. If that fails, the previous one stays in use. Throws a Fault `config.invalid` with the path when
 * the first read fails.
 */
export async function databaseLocator(path: string, kit: Pick<Kit, 'clock' | 'log'>): Promise<Locator> {
  const { clock, log } = kit;
  let database = await open(path);
  const stop = regularly(checkInterval, {
    clock,
    async work() {
      if ((await stat(path)).mtimeMs === database.changedAt) return;
      database = await open(path);
      log.info('the location database was read again', { path });
    },
    failed: (error) =>
      log.warn('the location database could not be read again; the previous one stays in use', {
        path,
        error,
      }),
  });
  const find = (address: string | undefined): CityResponse | undefined => {
    try {
      return address === undefined ? undefined : (database.reader.get(address) ?? undefined);
    } catch {
      // A damaged record, or an IPv6 address in a database of IPv4: nothing is known of it.
      return undefined;
    }
  };
  return {
    locate(address) {
      const { latitude, longitude } = find(address)?.location ?? {};
      return typeof latitude === 'number' && typeof longitude === 'number'
        ? { latitude, longitude }
        : undefined;
    },
    countryOf(address) {
      const code: unknown = find(address)?.country?.iso_code;
      return typeof code === 'string' && /^[A-Z]{2}$/.test(code) ? code : undefined;
    },
    stop,
  };
}

async function open(path: string): Promise<{ reader: Reader<CityResponse>; changedAt: number }> {
  const refuse = (why: string) =>
    new Fault('config.invalid', { status: 500, message: `plugins.ingest.database: ${path}: ${why}` });
  let bytes: Buffer;
  let changedAt: number;
  try {
    changedAt = (await stat(path)).mtimeMs;
    bytes = await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw refuse(code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`);
  }
  try {
    const reader = new Reader<CityResponse>(bytes);
    // Reads the search tree and a record: fails for a truncated file or another format.
    reader.get('192.0.2.1');
    return { reader, changedAt };
  } catch {
    throw refuse('expected a database of the MaxMind DB format, such as GeoLite2-City.mmdb');
  }
}
