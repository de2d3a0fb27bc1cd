import { Fault } from '../../../../core/base/fault.ts';
import { unreachableFault } from '../checks.ts';

export function fullFault(count: number): Fault {
  const message = `${count} records wait for Kafka already; this one was not sent`;
  return new Fault('bus.full', { status: 503, message, retryAfter: 1 });
}

/** For what certainly never left this process. */
export function unsentFault(): Fault {
  return unreachableFault('Kafka does not answer; this was not sent');
}

export function tooLargeFault(): Fault {
  return new Fault('bus.too_large', { status: 413, message: 'Kafka refuses a record as too large' });
}
