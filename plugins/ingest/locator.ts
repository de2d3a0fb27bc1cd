import { readFile, stat } from 'node:fs/promises';
import { type CityResponse, Reader } from 'mmdb-lib';
import { Fault } from '../../core/base/fault.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { token } from '../../core/plugin/token.ts';
import type { Location } from './distance.ts';
import { ingestLimits } from './limits.ts';

/** Knows where addresses are. */
export interface Locator {
  /** Undefined for an address that is in no database. */
  locate(address: string | undefined): Location | undefined;
  stop(): void;
}

export const locator = token<Locator>('ingest.locator');

/** Without a database nobody is anywhere. */
export const noLocator: Locator = { locate: () => undefined, stop: () => {} };

/**
 * Reads a database of the MaxMind DB format (its specification, version 2.0) with `location.latitude` and
 * `.longitude`, whole into memory, and again when the file has changed. A changed file that cannot be read leaves the
 * one before in use. Throws a Fault `config.invalid` that names the file when the first cannot be read.
 */
export async function databaseLocator(path: string, kit: Pick<Kit, 'clock' | 'log'>): Promise<Locator> {
  const { clock, log } = kit;
  let database = await open(path);
  let cancel = () => {};
  let isStopped = false;

  const look = async () => {
    try {
      const { mtimeMs } = await stat(path);
      if (mtimeMs !== database.changedAt) {
        database = await open(path);
        log.info('the database of locations was read again', { path });
      }
    } catch (error) {
      log.warn('the database of locations could not be read again; the one before stays in use', {
        path,
        error,
      });
    }
    if (!isStopped) schedule();
  };
  const schedule = () => {
    cancel = clock.at(clock.now() + ingestLimits.databaseCheck.value, () => void look());
  };
  schedule();
  return {
    locate(address) {
      if (address === undefined) return undefined;
      try {
        const { latitude, longitude } = database.reader.get(address)?.location ?? {};
        return typeof latitude === 'number' && typeof longitude === 'number'
          ? { latitude, longitude }
          : undefined;
      } catch {
        // A damaged record, or an IPv6 address in a database of IPv4: the order of the config answers.
        return undefined;
      }
    },
    stop() {
      isStopped = true;
      cancel();
    },
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
    // The search tree, and the first record, of a file that was cut or is another's.
    reader.get('192.0.2.1');
    return { reader, changedAt };
  } catch {
    throw refuse('expected a database of the MaxMind DB format, such as GeoLite2-City.mmdb');
  }
}
