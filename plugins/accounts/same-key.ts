import { Fault } from '../../core/base/fault.ts';
import { pause } from '../../core/base/timing.ts';
import type { AccountsKit } from './config.ts';

/** Of a starting node to write its key, while other starting nodes do the same. */
const maxAttempts = 50;
/** How long a node with another key waits for a heartbeat of a node with the former key, ms. Rarer heartbeats go unnoticed. */
const heartbeatWait = 6000;
/** Between two looks for one, ms. */
const look = 500;

/**
 * Nodes with the role api must have the same bootstrap key, or only some of them would accept a client. A row has the hash of
 * the key in use, and the processes that use it. Fault `config.invalid` when one of those runs with another key than this
 * node; when none runs, the key was changed, and the new one is used from now on.
 */
export async function agreeOnKey(kit: AccountsKit, key: Buffer): Promise<void> {
  const { node } = kit.deployment;
  const hash = key.toString('hex');
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const stored = await kit.resources.get(kind, id);
    const used: KeyInUse = stored ? JSON.parse(stored.body) : { hash, holders: {} };
    const isSame = used.hash === hash;
    const other = isSame ? undefined : await livingOf(used.holders, kit);
    if (other !== undefined) throw differs(other);
    if (!isSame) kit.log.info('the bootstrap key was changed', {});
    const holders = { ...(isSame && (await knownOf(used.holders, kit))), [node.id]: node.incarnation };
    const { createdAt, revision } = stored ?? { createdAt: kit.clock.now(), revision: 0 };
    const body = JSON.stringify({ hash, holders } satisfies KeyInUse);
    const row = { kind, id, account: '', createdAt, name: '', revision, body, indexes: {} };
    if ((await kit.resources.write({ rows: [row], events: [] })) === 'ok') return;
    // Another node started at the same time: compare with its key.
  }
  throw new Fault('node.taken', {
    status: 503,
    message: 'Too many nodes start at the same time. Try again.',
  });
}

interface KeyInUse {
  readonly hash: string;
  /** Node id → incarnation of the process that uses it. */
  readonly holders: Readonly<Record<string, string>>;
}

/** Id of a node that certainly lives: its heartbeat changes. The row of a dead node looks alive for a while. */
async function livingOf(holders: KeyInUse['holders'], kit: AccountsKit): Promise<string | undefined> {
  const { clock, signal } = kit;
  const { nodes } = kit.deployment;
  const seen = new Map<string, number>();
  const until = clock.now() + heartbeatWait;
  for (;;) {
    for (const [holder, incarnation] of Object.entries(holders)) {
      if (holder === nodes.own.id) continue;
      const now = await nodes.find(holder);
      if (!now?.isAlive || now.incarnation !== incarnation) seen.delete(holder);
      else if (!seen.has(holder)) seen.set(holder, now.aliveAt);
      else if (seen.get(holder) !== now.aliveAt) return holder;
    }
    if (seen.size === 0 || clock.now() >= until || signal.aborted) return undefined;
    await pause(Math.min(until, clock.now() + look), { clock, signal });
  }
}

/** Without nodes that no longer exist: node ids may be new with each start. */
async function knownOf(holders: KeyInUse['holders'], kit: AccountsKit): Promise<KeyInUse['holders']> {
  const there = new Set((await kit.deployment.nodes.list()).map(({ incarnation }) => incarnation));
  return Object.fromEntries(Object.entries(holders).filter(([, incarnation]) => there.has(incarnation)));
}

function differs(other: string): Fault {
  const message = `bootstrapKey: differs from that of the running node "${other}"; expected the same on all nodes with the role api, or on none. To change it, stop all of them first`;
  return new Fault('config.invalid', { status: 500, message });
}

const kind = 'singleton';
const id = 'bootstrap-key-in-use';
