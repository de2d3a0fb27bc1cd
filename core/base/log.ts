import { withoutSecrets } from './secrets.ts';

/**
 * One line per happening. Fields are small and plain; a field whose name sounds like a secret, and text that looks like
 * one, is masked.
 */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose lines all carry these fields. */
  with(fields: LogFields): Log;
}

export type LogFields = Readonly<Record<string, unknown>>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const rank: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };
const secret =
  /^(authorization|bootstrapkey|key|streamkey|secret|sharedsecret|jwt|password|accesskeyid|secretaccesskey|apikey|apisecret)$/i;

/** A log of JSON lines: time, level, message, fields. */
export function jsonLog(options: {
  /** A function: it may change. */
  level: LogLevel | (() => LogLevel);
  now: () => number;
  write: (line: string) => void;
  fields?: LogFields;
}): Log {
  const lowest = () => (typeof options.level === 'function' ? options.level() : options.level);
  const line = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (rank[level] < rank[lowest()]) return;
    const time = new Date(options.now()).toISOString();
    options.write(JSON.stringify({ time, level, message, ...options.fields, ...fields }, mask));
  };
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    with: (fields) => jsonLog({ ...options, fields: { ...options.fields, ...fields } }),
  };
}

function mask(name: string, value: unknown): unknown {
  if (secret.test(name)) return '***';
  if (value instanceof Error) return withoutSecrets(value.stack ?? value.message);
  return typeof value === 'string' ? withoutSecrets(value) : value;
}
