import type { Store } from '../../core/ports/store.ts';

/** A store whose calls in flight can be waited for. */
export function trackedStore<S extends Store>(store: S): { store: S; idle: () => Promise<void> } {
  let inFlight = 0;
  const track = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const value = Reflect.get(object, name, object) as unknown;
        if (name === 'resources' || name === 'events' || name === 'jobs') return track(value as object);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const result = value.apply(object, args) as unknown;
          if (!(result instanceof Promise)) return result;
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
