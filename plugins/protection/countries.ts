import { plainAddress } from '../../core/base/cidr.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { type Countries, countries } from '../ingest/contract.ts';

/** Whether this deployment knows the countries of addresses (`plugins.ingest.database`). */
export function hasCountries(kit: CountriesKit): boolean {
  return countriesOf(kit)?.hasDatabase ?? false;
}

/** The country of an address (ISO 3166-1), if it is known. */
export function countryOf(address: string | undefined, kit: CountriesKit): string | undefined {
  return countriesOf(kit)?.countryOf(address === undefined ? undefined : plainAddress(address));
}

type CountriesKit = Pick<Kit, 'deployment' | 'offered'>;

/** By process: asking for what is offered is too much for each part that a viewer fetches. */
const found = new WeakMap<object, readonly Countries[]>();

/** Undefined where the plugin ingest is off. */
function countriesOf({ deployment, offered }: CountriesKit): Countries | undefined {
  const known = found.get(deployment) ?? offered(countries);
  found.set(deployment, known);
  return known[0];
}
