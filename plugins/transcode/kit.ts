import type { Kit } from '../../core/plugin.ts';

/** What this plugin is given. */
export type TranscodeKit = Kit;
