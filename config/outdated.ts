import type { Config } from './schema.ts';

/** A warning for each key that older versions knew and this one accepts without using it. */
export function outdated({ recording }: Pick<Config, 'recording'>): string[] {
  return recording.direct === undefined
    ? []
    : ['recording.direct has no effect any more. Remove it from the config.'];
}
