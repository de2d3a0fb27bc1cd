import { Fault } from '../../core/base/fault.ts';
import { within } from '../../core/base/timing.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { frameRules } from './contract.ts';

/** ms. The page is not kept waiting for longer. */
const patience = 1000;

/** Value of `frame-ancestors` (CSP 3 §6.4.2) for the player of a playback id. */
export async function framers(
  { id, request }: { id: string; request: Request },
  { offered, clock, log }: Pick<Kit, 'offered' | 'clock' | 'log'>,
): Promise<string> {
  const rules = offered(frameRules);
  if (rules.length === 0) return '*';
  const late = () => new Fault('server.busy', { status: 503, message: 'It takes too long.' });
  try {
    const asked = Promise.all(rules.map((rule) => rule(id, request)));
    const found = (await within(asked, { ms: patience, clock, late })).filter((one) => one !== undefined);
    return found.length === 0 ? '*' : ["'self'", ...found.flat()].join(' ');
  } catch (error) {
    if (!(error instanceof Fault)) log.error('it is not known whose pages may frame a video', { error });
    return "'self'";
  }
}
