import { nearMiss } from '../../core/base/near-miss.ts';
import { eventNames } from '../events/contract.ts';
import { webhookLimits } from './limits.ts';

/** What is wrong with names of events, or undefined. Repeats a few of the unknown ones, shortened. */
export function eventProblem(names: readonly string[]): string | undefined {
  const unknown = [...new Set(names)].filter((name) => !eventNames.has(name));
  if (unknown.length === 0) return undefined;
  const { namedUnknown: most, namedLength: length } = webhookLimits;
  const shown = unknown.slice(0, most).map((name) => {
    const meant = nearMiss(name, eventNames);
    return `${JSON.stringify(name.slice(0, length))}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
  });
  const more = unknown.length > most ? ` and ${unknown.length - most} more` : '';
  return `there is no event ${shown.join(', ')}${more}; the events are ${[...eventNames].join(', ')}`;
}
