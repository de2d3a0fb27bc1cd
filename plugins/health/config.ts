import { Type } from '@sinclair/typebox';
import { limitSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  maxBitrate: limitSchema(
    'Highest bitrate of a healthy broadcast, bit/s. Beyond it, `issues` says that players will stall.',
    { default: 20_000_000, minimum: 100_000, unit: 'bit/s' },
  ),
});

/** What this plugin is given. */
export type HealthKit = Kit<typeof config>;
