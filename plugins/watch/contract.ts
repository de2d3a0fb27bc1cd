import { collection } from '../../core/plugin/token.ts';

/**
 * Whose pages may frame the player of a playback id: origins, as CSP writes them (`https://*.example.com`). Undefined: everybody's.
 * While it fails, those of this server alone.
 */
export type FrameRule = (id: string, request: Request) => Promise<readonly string[] | undefined>;

export const frameRules = collection<FrameRule>('watch.frame-rules');
