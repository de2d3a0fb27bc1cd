import { Fault } from '../../core/base/fault.ts';
import type { Offer } from '../../core/plugin/token.ts';
import type { FailedPlugins } from './failed-plugins.ts';
import type { Kits } from './kits.ts';
import type { PlannedPlugin } from './plan.ts';

/**
 * Checks what plugins offer to collections whose entries have names: each name once, and as the collection wants it. Called when all
 * plugins have started, because an offer may be made of what others provide. Throws one Fault `boot.invalid` with every problem. What
 * cannot be made is left out, as everywhere.
 */
export function checkNamedOffers({ plan, kits, failed }: Started): void {
  const owners = new Map<string, string>();
  const problems = plan.flatMap(({ plugin, culprit }) => {
    if (failed.isOff(plugin.id)) return [];
    return ((plugin.offers ?? []) as readonly Offer[]).flatMap((offer) => {
      const { named, id } = offer.to;
      const entry = named && made(offer, kits.of(plugin.id));
      // It is left out, and reported where it is asked for.
      if (!named || !entry || entry instanceof Promise) return [];
      const name = named.name(entry);
      const key = `${id}\n${name}`;
      const owner = owners.get(key);
      owners.set(key, culprit);
      const twice = owner && `${named.what} ${name} is declared twice: by ${owner} and ${culprit}`;
      const wrong = named.problem(entry);
      return [
        ...(twice ? [twice] : []),
        ...(wrong === undefined ? [] : [`plugin ${culprit}: the ${named.what} ${name}: ${wrong}`]),
      ];
    });
  });
  if (problems.length > 0) throw new Fault('boot.invalid', { status: 500, message: problems });
}

interface Started {
  readonly plan: readonly PlannedPlugin[];
  readonly kits: Pick<Kits, 'of'>;
  readonly failed: Pick<FailedPlugins, 'isOff'>;
}

function made(offer: Offer, kit: unknown): unknown {
  try {
    return offer.make(kit);
  } catch {
    return undefined;
  }
}
