import type { Clock } from '../../../core/ports/clock.ts';
import type { FreeSpace } from './free-space.ts';
import type { RecorderLimits } from './limits.ts';
import type { OpenFiles } from './open-files.ts';
import type { Steps } from './steps.ts';
import type { TakeFile, TakeIo } from './take-file.ts';

/** What the takes of a node have together. */
export interface SpoolSurroundings {
  readonly clock: Clock;
  readonly limits: RecorderLimits;
  readonly files: OpenFiles;
  readonly space: FreeSpace;
  openTakeFile(io: TakeIo): Steps<TakeFile>;
  /** One after the other: while a file is completed its index is in memory. */
  finishing<T>(work: () => Promise<T>): Promise<T>;
  io(path: string): TakeIo;
  log(message: string, fields: Readonly<Record<string, unknown>>): void;
}
