import type { LoggedEvent } from '../../core/ports/store.ts';
import { tasks } from '../tasks/contract.ts';
import type { ExportsKit } from './kit.ts';

/** Of an asset that is deleted nothing is exported any more. One that begins at this moment finds it gone. */
export const exportReactions = {
  async 'asset.deleted'(event: LoggedEvent, kit: ExportsKit): Promise<void> {
    const { payload } = JSON.parse(event.body) as { payload: { asset: { id: string } } };
    await kit.use(tasks).cancelOf(payload.asset.id, 'export');
  },
};
