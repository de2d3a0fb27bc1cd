import { Fault } from '../../core/base/fault.ts';
import { type StillOrder, type Stills, stillKinds } from '../../core/ports/stills.ts';

export interface ScriptedStills extends Stills {
  /** What was asked for, in order. */
  readonly orders: StillOrder[];
  /** What is answered from now on instead of a picture. */
  fault: Fault | undefined;
}

/** Stills without processes: a picture is a few bytes that tell its key. Nothing is kept or shared. */
export function scriptedStills(now: () => number): ScriptedStills {
  const orders: StillOrder[] = [];
  const counts = Object.fromEntries(
    stillKinds.map((kind) => [kind, { made: 0, shared: 0, refused: 0, failed: 0 }]),
  ) as Record<(typeof stillKinds)[number], Record<'made' | 'shared' | 'refused' | 'failed', number>>;
  return {
    orders,
    fault: undefined,
    async make(order) {
      orders.push(order);
      if (this.fault) throw this.fault;
      const media = await order.open(order.signal);
      if (!media) throw new Fault('still.none', { status: 404, message: 'There is no picture of it.' });
      counts[order.kind].made += 1;
      const bytes = new Uint8Array(Buffer.from(`jpeg of ${order.key} ${media.version ?? ''}`));
      const rows = Math.ceil(media.pictures.length / media.columns);
      const etag = Buffer.from(bytes).toString('hex').slice(-32);
      return { bytes, width: media.columns * 160, height: rows * 90, etag, at: now() };
    },
    totals: () => ({ kinds: counts, running: 0, waiting: 0, bytes: 0 }),
    close() {},
  };
}
