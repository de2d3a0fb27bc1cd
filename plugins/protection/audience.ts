import type { PlayQuestion } from '../../core/plugin/decide.ts';

/** What a token opens. */
export const audiences = ['playback', 'download', 'image'] as const;
export type Audience = (typeof audiences)[number];

/** What a token must open for a request. Undefined: any will do. */
export function audienceOf(what: PlayQuestion['what']): Audience | undefined {
  if (what === 'info') return undefined;
  return what === 'download' || what === 'image' ? what : 'playback';
}
