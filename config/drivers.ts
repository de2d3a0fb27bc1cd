import type { Config } from './schema.ts';

/** Which driver meets which port. */
export interface Drivers {
  readonly store: 'sqlite' | 'redis';
  readonly bus: 'sqlite' | 'kafka';
  readonly jobs: 'sqlite' | 'redis';
  /** `fs`, `s3`, or the name of a plugin that brings a driver. */
  readonly blobs: string;
}

/**
 * What the preset has, but for what the config says otherwise. Blobs go with no preset: they are on S3 as soon as a
 * bucket is named, because a folder is of one machine.
 */
export function driversOf(config: Partial<Pick<Config, 'preset' | 'drivers' | 's3'>>): Drivers {
  const blobs = config.s3?.bucket === undefined ? 'fs' : 's3';
  return { ...presets[config.preset === 'cluster' ? 'cluster' : 'embedded'], blobs, ...config.drivers };
}

/** Commits of the one write the jobs and the commands of the other, or nothing does. */
export function isLegalSet({ store, bus, jobs }: Drivers): boolean {
  return legalSets.has(`${store} ${bus} ${jobs}`);
}

const presets = {
  embedded: { store: 'sqlite', bus: 'sqlite', jobs: 'sqlite' },
  cluster: { store: 'redis', bus: 'kafka', jobs: 'redis' },
} as const;

const legalSets = new Set(Object.values(presets).map(({ store, bus, jobs }) => `${store} ${bus} ${jobs}`));
