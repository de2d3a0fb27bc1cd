import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Store } from '../../../core/ports/store.ts';

/** What was acknowledged is there, and each step is there whole or not at all. */
export async function expectWhole(store: Store, acknowledged: ReadonlyMap<number, number>): Promise<void> {
  const timers = new Map((await store.timers()).map((timer) => [timer.actor, timer.due]));
  const orders = new Set((await store.orders()).map((order) => order.id));
  for (const [index, sequence] of acknowledged) {
    const actor = `a/${index}`;
    const stored = (await store.load(actor))?.sequence ?? 0;
    expect(stored).toBeGreaterThanOrEqual(sequence);
    expect(await store.resources.get('stream', `s${index}`)).toMatchObject({ body: String(stored) });
    expect((await store.resources.find('stream', 'at', String(stored)))?.body).toBe(String(stored));
    expect(timers.get(actor)).toBe(stored);
    for (let step = 1; step <= stored; step++) expect(orders.has(`${actor}@${step}`)).toBe(true);
    expect(orders.has(`${actor}@${stored + 1}`)).toBe(false);
    expect(await store.events.position(`${actor}@${stored}`)).toBeDefined();
    expect(await store.events.position(`${actor}@${stored + 1}`)).toBeUndefined();
  }
}

/**
 * The last acknowledged sequence of each worker, as far as a process that commits without end got to say it. `kill`
 * ends something in the middle of it.
 */
export async function runUntil(
  place: string,
  { after, kill }: { after: number; kill: (child: ReturnType<typeof run>) => unknown },
): Promise<Map<number, number>> {
  const child = run(place);
  const closed = once(child, 'close');
  let output = '';
  child.stdout.on('data', (chunk) => {
    if (output === '') setTimeout(() => kill(child), after);
    output += chunk;
  });
  await closed;
  const acknowledged = new Map<number, number>();
  // The last line may be cut short by the kill.
  for (const line of output.split('\n').slice(0, -1)) {
    const [index, sequence] = line.split(' ').map(Number);
    acknowledged.set(index ?? -1, sequence ?? -1);
  }
  return acknowledged;
}

export function run(place: string) {
  const script = fileURLToPath(new URL('./kill-child.ts', import.meta.url));
  return spawn(process.execPath, [script, place], { stdio: ['ignore', 'pipe', 'ignore'] });
}
