import type { Kit } from '../../core/plugin/plugin.ts';
import type { config } from './config.ts';

/** What this plugin is given. */
export type HealthKit = Kit<typeof config>;
