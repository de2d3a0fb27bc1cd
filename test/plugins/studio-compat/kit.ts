import type { Plugin } from '../../../core/plugin/plugin.ts';
import studioCompat from '../../../plugins/studio-compat/index.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

export const plugins = [...(await allPlugins()), studioCompat as unknown as Plugin];

/** A world that speaks the API of Livepeer Studio. */
export const studioWorld = (more: Partial<Parameters<typeof world>[0]> = {}) => world({ plugins, ...more });
export const api = '/studio/api';
