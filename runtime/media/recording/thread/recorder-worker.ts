import { systemClock } from '../../../drivers/clock/system.ts';
import { recorderThread } from './recorder-thread.ts';

recorderThread(globalThis as unknown as Parameters<typeof recorderThread>[0], { clock: systemClock() });
