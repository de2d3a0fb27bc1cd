import { systemClock } from '../../drivers/clock/system.ts';
import { openTakeFile } from './file/open-take-file.ts';
import { recorderThread } from './recorder-thread.ts';

recorderThread(globalThis as unknown as Parameters<typeof recorderThread>[0], {
  clock: systemClock(),
  openTakeFile,
});
