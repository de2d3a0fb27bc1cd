import { createHash } from 'node:crypto';
import type { Decision, Kit, PlayQuestion } from 'millrace/plugin';
import {
  ByteLru,
  definePlugin,
  durationSchema,
  milliseconds,
  object,
  oneOf,
  SingleFlight,
  Type,
} from 'millrace/plugin';
import { forms, queryOf, videoOf } from './forms.ts';

const config = object({
  url: Type.String({
    default: 'http://127.0.0.1:8085/hook',
    description: 'The endpoint. It gets a POST with JSON.',
  }),
  form: oneOf(['mediamtx', 'srs'], {
    default: 'mediamtx',
    description: 'Whose form the JSON has: "mediamtx" or "srs".',
  }),
  timeout: durationSchema('Time for an answer. `decisions.timeout` limits it too.', {
    default: '2s',
    atMost: '1m',
  }),
  cache: durationSchema('How long an answer counts for the same question of a viewer.', {
    default: '10s',
    atMost: '1h',
  }),
  publish: Type.Boolean({ default: true, description: 'Whether broadcasts are asked about.' }),
  play: Type.Boolean({ default: true, description: 'Whether viewers are asked about.' }),
  secret: Type.Optional(Type.String({ isSecret: true, description: 'Sent as `Authorization: Bearer …`.' })),
});
type HooksKit = Kit<typeof config>;

/** Bytes that remembered answers may hold, and those of one. */
const cacheBytes = 16 * 1_048_576;
const answerBytes = 300;

/** What each process remembers, and what it asks now. */
interface Memory {
  readonly answers: ByteLru<{ readonly decision: Decision }>;
  readonly asking: SingleFlight<Decision>;
}
const memories = new WeakMap<object, Memory>();

function memoryOf({ deployment }: HooksKit): Memory {
  const known = memories.get(deployment);
  if (known) return known;
  const memory = {
    answers: new ByteLru<{ readonly decision: Decision }>({ bytes: cacheBytes }),
    asking: new SingleFlight<Decision>({ running: 1000, waiting: 50_000 }),
  };
  memories.set(deployment, memory);
  return memory;
}

/** Asks an HTTP endpoint before each publish and play. Without an answer it counts as `decisions.onError` says: refused. */
export default definePlugin({
  id: 'hooks',
  summary: 'asks an HTTP endpoint before each publish and play',
  contract: 3,
  config,
  decides: {
    // Each connection of an encoder is asked about anew.
    publish: (question, kit) =>
      kit.config.publish ? ask(forms[kit.config.form].publish(question), { kit }) : undefined,
    play(question, kit) {
      if (!kit.config.play) return undefined;
      const { answers, asking } = memoryOf(kit);
      const key = keyOf(question);
      const known = answers.get(key, kit.clock.now());
      if (known) return known.decision;
      const work = async (signal: AbortSignal) => {
        const decision = await ask(forms[kit.config.form].play(question), { kit, signal });
        const until = kit.clock.now() + milliseconds(kit.config.cache);
        answers.reserve(answerBytes)?.keep(key, { decision }, { until });
        return decision;
      };
      return asking.wait(key, { signal: kit.signal, work }).then((decision) => {
        if (decision === 'full' || decision === 'left')
          throw new Error('too many questions wait for the endpoint');
        return decision;
      });
    },
  },
});

/** All that the endpoint is told and may decide by. */
function keyOf(question: PlayQuestion): string {
  const { viewer, kind, origin = '' } = question;
  const told = JSON.stringify([viewer, kind, videoOf(question), origin, queryOf(question)]);
  return createHash('sha256').update(told).digest('base64url');
}

/** Throws when the endpoint has not decided. */
async function ask(
  body: object,
  { kit, signal = kit.signal }: { kit: HooksKit; signal?: AbortSignal },
): Promise<Decision> {
  const { url, timeout, secret } = kit.config;
  const answer = await kit.outbound.request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
    },
    body: JSON.stringify(body),
    // Asking twice is harmless.
    repeatable: true,
    timeout: milliseconds(timeout),
    maxBytes: 4096,
    signal,
  });
  if (!answer.ok) throw new Error(answer.message);
  if (answer.status >= 500) throw new Error(`the endpoint answered ${answer.status}`);
  const isAllowed = answer.status < 300 && codeOf(new TextDecoder().decode(answer.body)) === 0;
  return isAllowed ? undefined : { refuse: 'The endpoint refused it.' };
}

/** SRS wants `0` or `{"code": 0}` beside the status. Whatever else a body says, the status counts. */
function codeOf(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'number') return value;
    return (value as { code?: unknown } | null)?.code ?? 0;
  } catch {
    return 0;
  }
}
