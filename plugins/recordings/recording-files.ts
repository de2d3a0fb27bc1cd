import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { isUuid } from '../../core/base/ids.ts';
import { pause } from '../../core/base/timing.ts';
import { services } from '../../core/plugin/services.ts';
import type { FinishedRecording } from '../../core/ports/recorder.ts';
import type { RecordingsKit } from './config.ts';

/** How long a node lets another wait for its part in one request, ms; then it answers 202 and goes on. */
const nodeWait = 10_000;
/** How long another node may take to answer that request, ms. */
const nodeSilence = 15_000;

/** What a node has of a session, as blobs. */
export interface NodeFile {
  readonly node: string;
  readonly file: FinishedRecording;
}

/**
 * Has every one of these nodes finish what it has of a session, all at one time. `missing`: nodes that did not, with why.
 * Alone, there is only this node, whatever its name was when the session ran. Repeating it is harmless.
 */
export async function finishFiles(
  sessionId: string,
  { nodes, signal, kit }: { nodes: readonly string[]; signal: AbortSignal; kit: FilesKit },
): Promise<{ readonly files: readonly NodeFile[]; readonly missing: readonly MissingFile[] }> {
  const { deployment } = kit;
  const asked = deployment.isAlone ? [deployment.node.id] : nodes;
  const ends = await Promise.allSettled(
    asked.map((node) =>
      node === deployment.node.id
        ? kit.use(services.recorder).finish(sessionId, { signal })
        : finishThere(sessionId, { node, signal, kit }),
    ),
  );
  signal.throwIfAborted();
  const files: NodeFile[] = [];
  const missing: MissingFile[] = [];
  ends.forEach((end, index) => {
    const node = asked[index];
    if (end.status === 'rejected') missing.push({ node, error: end.reason });
    else if (end.value) files.push({ node, file: end.value });
  });
  return { files: files.sort((a, b) => a.file.startedAt - b.file.startedAt), missing };
}

interface MissingFile {
  readonly node: string;
  readonly error: unknown;
}

/** Removes what a node has of a session beside blobs. Fault `node.unreachable` (503) when that is another which is not there. */
export async function dropFile(
  sessionId: string,
  { node, signal, kit }: { node: string; signal: AbortSignal; kit: FilesKit },
): Promise<void> {
  if (node === kit.deployment.node.id) {
    await kit.use(services.recorder).drop(sessionId);
    return;
  }
  const answer = await kit.deployment.nodes.request(node, pathOf(sessionId, 'drop'), {
    method: 'POST',
    signal,
  });
  await answer.body?.cancel();
  if (!answer.ok) throw refused(node, answer.status);
}

/** What other nodes ask of this one. */
export function recordingFileRoutes(kit: FilesKit): AnyElysia {
  /** What others wait for: it goes on when they wait no longer, because they come back. */
  const running = new Map<string, Promise<FinishedRecording | undefined>>();
  const finish = (sessionId: string) => {
    const known = running.get(sessionId);
    if (known) return known;
    const begun = kit
      .use(services.recorder)
      .finish(sessionId, { signal: kit.signal })
      .finally(() => running.delete(sessionId));
    // Whoever waits hears of a failure; it is no matter when nobody does.
    begun.catch(() => {});
    running.set(sessionId, begun);
    return begun;
  };
  return new Elysia()
    .post('/internal/recordings/:sessionId/finish', async ({ params, request }) => {
      const sessionId = checked(params.sessionId);
      const { clock } = kit;
      const answered = new AbortController();
      const signal = AbortSignal.any([request.signal, answered.signal]);
      const waited = pause(clock.now() + nodeWait, { clock, signal });
      try {
        const end = await Promise.race([finish(sessionId), waited.then(() => notYet)]);
        if (end === notYet) return new Response(null, { status: 202 });
        return end ? Response.json(end) : new Response(null, { status: 204 });
      } finally {
        answered.abort();
      }
    })
    .post('/internal/recordings/:sessionId/drop', async ({ params }) => {
      await kit.use(services.recorder).drop(checked(params.sessionId));
      return new Response(null, { status: 204 });
    });
}

type FilesKit = Pick<RecordingsKit, 'use' | 'deployment' | 'clock' | 'signal'>;

const notYet = 'not yet';

async function finishThere(
  sessionId: string,
  { node, signal, kit }: { node: string; signal: AbortSignal; kit: FilesKit },
): Promise<FinishedRecording | undefined> {
  const options = { method: 'POST', signal, timeout: nodeSilence } as const;
  for (;;) {
    signal.throwIfAborted();
    const answer = await kit.deployment.nodes.request(node, pathOf(sessionId, 'finish'), options);
    if (answer.status === 200) return (await answer.json()) as FinishedRecording;
    await answer.body?.cancel();
    if (answer.status === 204) return undefined;
    if (answer.status !== 202) throw refused(node, answer.status);
  }
}

function pathOf(sessionId: string, what: 'finish' | 'drop'): string {
  return `/internal/recordings/${sessionId}/${what}`;
}

function refused(node: string, status: number): Fault {
  return new Fault('node.unreachable', {
    status: 503,
    message: `The node "${node}", which has a part of the recording, answered ${status}.`,
    retryAfter: 1,
  });
}

/** Session ids name files of the recorder. */
function checked(sessionId: string): string {
  if (isUuid(sessionId)) return sessionId;
  throw new Fault('session.not_found', { status: 404, message: 'This is not the id of a session.' });
}
