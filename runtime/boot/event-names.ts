import { maxEventName } from '../../core/plugin/events.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';

/**
 * What is wrong with the names of a plugin's events. Those of a plugin that does not ship with the program begin with its id: so no
 * later release has an event of the same name, and webhooks show where it comes from.
 */
export function eventNameProblems({ id, contract, emits = {} }: Plugin): string[] {
  // Only a plugin that does not ship says for which contract it was written.
  if (contract === undefined) return [];
  return Object.keys(emits)
    .filter((name) => !(name.startsWith(`${id}.`) && ending.test(name.slice(id.length))))
    .concat(Object.keys(emits).filter((name) => name.length > maxEventName))
    .map(
      (name) =>
        `plugin ${id}: its event ${name} must be named ${id}. and a word in small letters, such as ${id}.reached, at most ${maxEventName} characters in all`,
    );
}

const ending = /^(\.[a-z0-9]+([_-][a-z0-9]+)*)+$/;
