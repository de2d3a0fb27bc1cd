import type { Kit } from 'millrace/plugin';
import {
  assets,
  definePlugin,
  durationSchema,
  effect,
  filmSound,
  isTemporary,
  milliseconds,
  object,
  offer,
  Type,
  textTracks,
  unlessRefused,
} from 'millrace/plugin';
import { kind, type Result, type Task, transcript } from './transcript.ts';

const local = 'http://127.0.0.1:8000/v1/audio/transcriptions';
const config = object({
  url: Type.String({ default: local, description: 'An OpenAI-compatible endpoint for transcriptions.' }),
  key: Type.Optional(Type.String({ isSecret: true, description: 'API key of the endpoint.' })),
  model: Type.String({ default: 'whisper-1', description: 'Model that the endpoint knows.' }),
  language: Type.String({ default: 'en', description: 'Language that is spoken, ISO 639-1.' }),
  mostMegabytes: Type.Integer({
    default: 25,
    minimum: 1,
    maximum: 500,
    description: 'Largest file it takes.',
  }),
  timeout: durationSchema('Time for one transcript.', { default: '15m' }),
});

/** Bytes of a WebVTT file that players get. */
const mostText = 2 * 1_048_576;

/** Subtitles of recordings, made by an OpenAI-compatible endpoint. */
export default definePlugin({
  id: 'transcript',
  summary: 'makes subtitles of recordings',
  contract: 3,
  config,
  needs: [assets],
  actors: [transcript],
  emits: {
    'transcript.ready': 'A recording has subtitles.',
    'transcript.failed': 'A recording gets no subtitles; `payload.problem` says why.',
  },
  effects: {
    'transcript.make': effect<Task, Result, typeof config>({
      ...{ concurrency: 2, attempts: 12, backoff: { first: 10_000, most: 600_000 } },
      timeout: ({ timeout }) => milliseconds(timeout) + 60_000,
      run: ({ input, signal }, kit) => make(input, { kit, signal }),
    }),
  },
  reactions: {
    async 'recording.ready'({ id, account, body }, { actors }) {
      const { assetId } = JSON.parse(body).payload as { assetId: string };
      await actors.spawn(transcript, assetId, { assetId, account }, { cause: id }).catch(unlessRefused);
    },
    async 'asset.deleted'({ body }, { actors, blobs }) {
      const { id } = (JSON.parse(body).payload as { asset: { id: string } }).asset;
      await actors.ask(transcript, id, { type: 'deleted' }).catch(unlessRefused);
      await blobs.delete([keyOf(id)]);
    },
  },
  offers: [
    offer(textTracks, ({ resources, config: { language } }: Kit<typeof config>) => async ({ assetId }) => {
      const row = await resources.get(kind, assetId);
      const { key } = row ? (JSON.parse(row.body) as { key?: string }) : {};
      return key ? [{ id: 'transcript', name: 'Transcript', language, vtt: { blob: key } }] : [];
    }),
  ],
});

async function make(
  { assetId }: Task,
  { kit, signal }: { kit: Kit<typeof config>; signal: AbortSignal },
): Promise<Result> {
  const { url, key, model, language, mostMegabytes } = kit.config;
  const asset = await kit.use(assets).find(assetId);
  if (!asset?.file) return { problem: 'The recording has no file.' };
  const most = mostMegabytes * 1_000_000;
  let sound: Uint8Array<ArrayBuffer> | undefined;
  try {
    sound = await filmSound(asset.file, { blobs: kit.blobs, most, signal });
  } catch (error) {
    if (error instanceof RangeError) return { problem: error.message };
    throw error;
  }
  if (!sound) return { problem: 'The recording has no sound.' };
  const form = new FormData();
  form.set('file', new Blob([sound], { type: 'audio/mp4' }), 'sound.m4a');
  for (const [name, value] of Object.entries({ model, language, response_format: 'vtt' }))
    form.set(name, value);
  const sent = new Response(form);
  const timeout = milliseconds(kit.config.timeout);
  const answer = await kit.outbound.request(url, {
    method: 'POST',
    headers: {
      'content-type': sent.headers.get('content-type') ?? '',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
    body: await sent.bytes(),
    ...{ timeout, idleTimeout: timeout, maxBytes: mostText, signal },
  });
  if (!answer.ok) throw new Error(answer.message);
  if (isTemporary(answer.status)) throw new Error(`the endpoint answered ${answer.status}`);
  const text = new TextDecoder().decode(answer.body);
  if (answer.status !== 200) return { problem: `The endpoint answered ${answer.status}.` };
  if (answer.isCut || !text.startsWith('WEBVTT')) return { problem: 'The endpoint answered with no WebVTT.' };
  await kit.blobs.put(keyOf(assetId), new TextEncoder().encode(text), { signal });
  return { key: keyOf(assetId) };
}

function keyOf(assetId: string): string {
  return `transcripts/${assetId}.vtt`;
}
