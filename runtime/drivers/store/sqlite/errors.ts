/** The disk has no room. SQLite undoes the transaction, so nothing of it is there. */
export function isFull(error: unknown): boolean {
  return sqliteCode(error) === 'SQLITE_FULL';
}

/** The disk or the file is not what it was: going on could make it worse. */
export function isDamage(error: unknown): boolean {
  return /^SQLITE_(IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN)/.test(sqliteCode(error));
}

function sqliteCode(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? '');
}
