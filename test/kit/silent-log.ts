import type { Log } from '../../core/base/log.ts';

/** For what must have a log that no test looks at. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLog,
};
