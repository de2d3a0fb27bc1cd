import type { LoggedEvent } from '../../core/ports/store.ts';
import { tasks } from '../tasks/contract.ts';
import type { TranscodeKit } from './kit.ts';

/** Of an asset that is deleted nothing is made any more. What is made already stays. */
export const transcodeReactions = {
  async 'asset.deleted'(event: LoggedEvent, kit: TranscodeKit): Promise<void> {
    const { payload } = JSON.parse(event.body) as { payload: { asset: { id: string } } };
    await kit.use(tasks).cancelOf(payload.asset.id, 'transcode');
  },
};
