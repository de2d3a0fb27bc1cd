import type { Clock } from '../../core/ports/clock.ts';

/**
 * What a process that can die has of the world: from its death on none of its calls arrives, and no answer and no alarm
 * reaches it. What was on its way to an engine is carried out there.
 */
export function mortal(clock: Clock) {
  const alarms = new Set<() => void>();
  let isDead = false;
  const never = new Promise<never>(() => {});

  const bound = <T extends object>(target: T, quiet: readonly string[] = []): T =>
    new Proxy(target, {
      get(object, name) {
        const value = Reflect.get(object, name, object) as unknown;
        if (value !== null && typeof value === 'object') return bound(value);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (isDead) return quiet.includes(String(name)) ? undefined : never;
          const result = value.apply(object, args) as unknown;
          if (!(result instanceof Promise)) return result;
          return new Promise((resolve, reject) =>
            result.then(
              (answer) => isDead || resolve(answer),
              (error) => isDead || reject(error),
            ),
          );
        };
      },
    });

  return {
    bound,
    clock: {
      now: () => clock.now(),
      at(due, action) {
        if (isDead) return () => {};
        const cancel = clock.at(due, () => {
          alarms.delete(cancel);
          action();
        });
        alarms.add(cancel);
        return () => {
          alarms.delete(cancel);
          cancel();
        };
      },
    } satisfies Clock,
    get isDead() {
      return isDead;
    },
    die() {
      isDead = true;
      for (const cancel of alarms) cancel();
      alarms.clear();
    },
  };
}
