import { Fault } from '../base/fault.ts';

const code = 'job.not_now';

/** What `run` of an effect throws to have the job handed back unbegun, for so many seconds: that is no attempt. */
export function notNow(retryAfter: number): Fault {
  return new Fault(code, { status: 503, message: 'it cannot begin now', retryAfter });
}

/** Whether an attempt ended by that. */
export function isNotNow(error: { readonly code: string }): boolean {
  return error.code === code;
}
