import { Type } from '@sinclair/typebox';
import type { Parameters } from '../../core/http/operation.ts';
import { invalidQuery } from '../../core/http/query.ts';

/** Sides that may be asked for, pixels. */
export const leastSide = 16;
export const mostSide = 1920;
export const mostAnimatedSide = 640;

/** Query parameters of pictures of films, for the API reference. */
export const pictureQuery: Parameters = {
  time: Type.Number({
    minimum: 0,
    description:
      'Of `thumbnail.*`: the moment in seconds; beyond the end, the last picture. Default: a tenth of the film, at most 10 s.',
    examples: [12.5],
  }),
  width: Type.Integer({
    ...{ minimum: leastSide, maximum: mostSide },
    description: `Of \`thumbnail.*\` and \`animated.*\`: pixels that the picture must fit into; of \`animated.*\` at most ${mostAnimatedSide}. Its shape is kept, and it is never enlarged.`,
    examples: [320],
  }),
  height: Type.Integer({
    ...{ minimum: leastSide, maximum: mostSide },
    description: 'The same for its height.',
    examples: [180],
  }),
  start: Type.Number({
    minimum: 0,
    description: 'Of `animated.*`: seconds of the film at which it begins. Default: 0.',
    examples: [3],
  }),
  end: Type.Number({
    minimum: 0,
    description: 'Of `animated.*`: and at which it ends, at most 10 s later. Default: 5 s later.',
    examples: [6.5],
  }),
  fps: Type.Number({
    ...{ minimum: 1, maximum: 30 },
    description: 'Of `animated.*`: pictures a second. Default: 15.',
    examples: [15],
  }),
};

/** Seconds, such as `12.5`. Undefined when absent. 422 `query.invalid`. */
export function secondsAsked(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}(\.\d{1,20})?$/.test(text)) throw invalidQuery(`${name}: expected seconds, such as 12.5`);
  return Number(text);
}

export interface Box {
  readonly width: number;
  readonly height: number;
}

/** What the picture must fit into. A side that is not named limits nothing. 422 `query.invalid`. */
export function boxAsked(query: URLSearchParams, { usual, most }: { usual: number; most: number }): Box {
  const [width, height] = ['width', 'height'].map((name) => {
    const text = query.get(name);
    if (text === null) return undefined;
    const side = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (side >= leastSide && side <= most) return side;
    throw invalidQuery(`${name}: expected pixels, a whole number from ${leastSide} to ${most}`);
  });
  if (width === undefined && height === undefined) return { width: usual, height: usual };
  return { width: width ?? most, height: height ?? most };
}
