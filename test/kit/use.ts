import type { Kit } from '../../core/plugin/plugin.ts';
import { type Services, services } from '../../core/plugin/services.ts';

/** `kit.use` for a test that makes a part of a kit itself: gives these services, and for all other tokens what `other` gives. */
export function useOf(
  given: { [K in keyof Services]?: unknown },
  other: (id: string) => unknown = () => {},
): Kit['use'] {
  const byId = new Map(
    Object.entries(given).map(([name, one]) => [services[name as keyof Services].id, one]),
  );
  return ({ id }) => (byId.has(id) ? byId.get(id) : other(id)) as never;
}
