import type { AnyElysia } from 'elysia';

/** What an app does with requests of its routes, as it is now: to tell later what others have added. */
export class Hooks {
  readonly #known: ReadonlySet<unknown>;

  constructor(app: AnyElysia) {
    this.#known = new Set(Object.values(app.event).flat().map(functionOf));
  }

  /** Whether a route, or an app, has no others, and no schema. What is told of it changes nothing. */
  areAll(hooks: object): boolean {
    return Object.entries(hooks).every(
      ([name, value]) =>
        name === 'detail' ||
        value === undefined ||
        (Array.isArray(value) && value.every((hook) => this.#known.has(functionOf(hook)))),
    );
  }
}

/** A hook is a function, with where it holds. */
function functionOf(hook: unknown): unknown {
  return (hook as { fn?: unknown } | undefined)?.fn ?? hook;
}
