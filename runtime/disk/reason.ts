/** What outsiders may read of an error of the disk: its code. Its text names paths of this machine. */
export function diskReason(error: object): string {
  const { code } = error as { readonly code?: unknown };
  const isTold = typeof code === 'string' && /^E[A-Z0-9]+$/.test(code);
  return isTold ? `the disk says ${code}` : 'the server met trouble of its own';
}
