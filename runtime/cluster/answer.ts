import { Fault } from '../../core/base/fault.ts';

/** What comes back for a command: a view of the actor, what became of a result, or why not. */
export type Answer =
  | { readonly view: { readonly value: unknown; readonly context: unknown } }
  | { readonly outcome: 'ok' | 'stale' | 'lost' }
  | { readonly fault: FaultData };

/** A Fault as data; it is thrown where the command came from. */
export interface FaultData {
  readonly code: string;
  readonly status: number;
  readonly message: readonly string[];
  readonly retryAfter?: number;
  readonly retry: boolean;
}

export function faultData(fault: Fault): FaultData {
  const { code, status, problems, retryAfter, retry } = fault;
  return { code, status, message: problems, retry, ...(retryAfter !== undefined && { retryAfter }) };
}

export function thrownFault({ code, ...data }: FaultData): Fault {
  return new Fault(code, data);
}

/** What failed by a mistake of ours: the log of the node that did it has the details. */
export const mistake: FaultData = {
  code: 'internal',
  status: 500,
  message: ['Something went wrong on our side.'],
  retry: true,
};

export const unknownOutcome: FaultData = {
  code: 'store.unknown',
  status: 503,
  message: ['It is not known yet whether this was done. Look before repeating it.'],
  retryAfter: 2,
  retry: true,
};
