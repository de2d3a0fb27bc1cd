import type { Kit } from '../../core/plugin/plugin.ts';

/** What this plugin is given. */
export type TranscodeKit = Kit;
