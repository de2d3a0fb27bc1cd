import type { OutboundFailure, OutboundReason } from '../../../core/ports/outbound.ts';

/** A failure as a value. The message is shown to users and kept in logs: see OutboundFailure. */
export function failure(reason: OutboundReason, message: string): OutboundFailure {
  return { ok: false, reason, message };
}
