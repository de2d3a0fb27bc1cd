/** Does it for all of them at once, and waits for all: one that fails keeps no other from it, and then fails the whole. */
export async function sideBySide<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const failed = (await Promise.allSettled(all.map(work))).find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}
