import type { Store, StoredResource } from '../../core/ports/store.ts';
import { rowHomes } from './row-homes.ts';

/** A store whose calls in flight can be waited for, and whose readers must be right about where rows are. */
export function trackedStore<S extends Store>(store: S): { store: S; idle: () => Promise<void> } {
  let inFlight = 0;
  const homes = rowHomes();
  const track = <T extends object>(target: T, what = ''): T =>
    new Proxy(target, {
      get(object, name) {
        const value = Reflect.get(object, name, object) as unknown;
        if (name === 'resources' || name === 'events' || name === 'jobs') return track(value as object, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (what === '') homes.called(String(name), args);
          const answer = value.apply(object, args) as unknown;
          const found = (row: StoredResource | undefined) => {
            homes.found(String(name), { args, row });
            return row;
          };
          if (!(answer instanceof Promise))
            return what === 'resources' ? found(answer as StoredResource | undefined) : answer;
          const result = what === 'resources' ? answer.then(found) : answer;
          inFlight += 1;
          const done = () => {
            inFlight -= 1;
          };
          result.then(done, done);
          return result;
        };
      },
    });
  return {
    store: track(store),
    async idle() {
      for (let quiet = 0; quiet < 5; quiet = inFlight === 0 ? quiet + 1 : 0) {
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    },
  };
}
