import type { Config } from './schema.ts';

/** Which driver meets which port. */
export interface Drivers {
  readonly store: 'sqlite' | 'redis';
  readonly bus: 'sqlite' | 'kafka';
  /** `fs`, `s3`, or the name of a plugin that brings a driver. */
  readonly blobs: string;
}

/**
 * What the preset has, but for what the config says otherwise. Blobs go with no preset: they are on S3 as soon as a
 * bucket is named, because a folder is of one machine.
 */
export function driversOf(config: Partial<Pick<Config, 'preset' | 'drivers' | 's3'>>): Drivers {
  const blobs = config.s3?.bucket === undefined ? 'fs' : 's3';
  const { jobs: _, ...drivers } = config.drivers ?? {};
  return { ...presets[config.preset === 'cluster' ? 'cluster' : 'embedded'], blobs, ...drivers };
}

/** Commits of the store write the commands that the bus carries, or nothing does. */
export function isLegalSet({ store, bus }: Drivers): boolean {
  return legalSets.has(`${store} ${bus}`);
}

const presets = {
  embedded: { store: 'sqlite', bus: 'sqlite' },
  cluster: { store: 'redis', bus: 'kafka' },
} as const;

const legalSets = new Set(Object.values(presets).map(({ store, bus }) => `${store} ${bus}`));
