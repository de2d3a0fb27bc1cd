import type { OutboundFailure } from '../../../core/ports/outbound.ts';
import { Connection } from './connection.ts';
import { type ReachOptions, reach } from './reach.ts';
import type { Target } from './target.ts';

export interface ConnectOptions extends Omit<ReachOptions<Connection>, 'take' | 'protocols'> {
  /** Where it is listed while it is open. */
  readonly open: Set<Connection>;
}

/** A connection for HTTP/1.1 to one of the checked addresses: see `reach`. */
export async function connect(to: Target, options: ConnectOptions): Promise<Connection | OutboundFailure> {
  return reach(to, {
    ...options,
    protocols: ['http/1.1'],
    take(socket, address) {
      const connection: Connection = new Connection(socket, {
        address,
        checkedAt: options.clock.now(),
        onGone: () => options.open.delete(connection),
      });
      options.open.add(connection);
      return connection;
    },
  });
}
