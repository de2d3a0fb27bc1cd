import { Fault } from '../../core/base/fault.ts';
import { startFaults } from '../../core/plugin/fault-table.ts';
import type { Derivation, Derived, Field } from '../../core/plugin/resource.ts';
import type { Offer } from '../../core/plugin/token.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { TimeLimit } from './time-limit.ts';

/** How long derived fields are left out after they took too long, ms: every answer would wait for them again. */
const rest = 10_000;

/** What a plugin is given to others through, and what becomes of its errors. */
export interface Containment {
  readonly plugin: string;
  readonly clock: Clock;
  /** For what derives fields. */
  readonly limit: TimeLimit;
  /** Set while the plugin is off. */
  failure(): Fault | undefined;
  /** @param where what failed, in a few words */
  tell(where: string, error: unknown): void;
}

/**
 * Whether it is a Fault of the program or its engines, which no plugin is to blame for: one that a person must mend before
 * a start (`startFaults`), or an engine that does not answer.
 */
export function isOfProgram(error: unknown): boolean {
  if (!(error instanceof Fault) || error.code === 'boot.slow') return false;
  return Object.hasOwn(startFaults, error.code) || /^(store|blobs|bus|volatile)\./.test(error.code);
}

/**
 * A derivation that cannot spoil the answers it is a part of: when it throws or takes too long, its fields are left out and
 * the object says so.
 */
export function containedDerivation(derivation: Derivation, containment: Containment): Derivation {
  const { plugin, clock, limit, failure, tell } = containment;
  const where = `derived fields of ${derivation.resource.kind}`;
  let restsUntil = 0;
  const leftOut = (shown: Shown): Derived | undefined => {
    // Of an object that shows issues.
    if (!Array.isArray(shown.issues)) return undefined;
    return { values: {}, issues: [`Fields of the plugin ${plugin} are missing, because it failed.`] };
  };
  const failed = (error: unknown, shown: Shown): Derived | undefined => {
    if (isOfProgram(error)) throw error;
    tell(where, error);
    return leftOut(shown);
  };
  const late = (): Error => {
    restsUntil = clock.now() + rest;
    return new Error('it took too long');
  };
  return {
    ...derivation,
    of(shown, options) {
      if (failure()) return undefined;
      if (clock.now() < restsUntil) return leftOut(shown);
      try {
        const derived = derivation.of(shown, options);
        if (!(derived instanceof Promise)) return derived;
        return limit.within(derived, late).catch((error: unknown) => failed(error, shown));
      } catch (error) {
        return failed(error, shown);
      }
    },
  };
}

type Shown = Readonly<Record<string, unknown>>;

/**
 * A field that cannot spoil the objects it is a part of. Of a plugin that is off it is shown as it is stored, and cannot be
 * set: Fault `plugin.failed`. What `validate` and `prepare` throw is the answer to a request that sets it.
 */
export function containedField(field: Field, { failure, tell }: Containment): Field {
  const { initial, issues, validate, prepare } = field;
  const where = `field ${field.resource.kind}.${field.name}`;
  const attempt = <T>(call: () => T, otherwise: T): T => {
    try {
      return call();
    } catch (error) {
      tell(where, error);
      return otherwise;
    }
  };
  const off = failure();
  return {
    ...field,
    ...(off && { faults: [...(field.faults ?? []), off.code] }),
    initial: (kit) => attempt(() => initial.call(field, kit), undefined),
    validate(value, change) {
      const fault = failure();
      if (fault) throw fault;
      return validate?.call(field, value, change);
    },
    ...(prepare && { prepare: (value: unknown, change: never) => prepare.call(field, value, change) }),
    ...(issues && {
      issues: (value: unknown, values: Shown) => attempt(() => issues.call(field, value, values), []),
    }),
  };
}

/** What a plugin offers, or nothing when it cannot be made. */
export function containedOffer<T>(offer: Offer, options: { kit: unknown; containment: Containment }): T[] {
  const { kit, containment } = options;
  try {
    const made = offer.make(kit);
    if (made === undefined || made === null || made instanceof Promise)
      throw new Error('expected what is offered, and it made nothing or a promise');
    return [made as T];
  } catch (error) {
    containment.tell(`offer ${offer.to.id}`, error);
    return [];
  }
}

function* nothing(): Iterator<never> {}

/**
 * Stands for what a plugin that is off did not provide, so that it and those that need it can declare their routes, which
 * are never asked: each property and each result of a call is the same again, a list of it is empty.
 */
export function absent<T>(): T {
  const stand: unknown = new Proxy(() => {}, {
    get(_, name) {
      if (name === Symbol.iterator) return nothing;
      // It is no promise, and has no other form.
      return name === 'then' || typeof name === 'symbol' ? undefined : stand;
    },
    apply: () => stand,
    construct: () => stand as object,
  });
  return stand as T;
}
