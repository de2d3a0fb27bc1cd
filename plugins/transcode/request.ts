import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault, hasCode } from '../../core/base/fault.ts';
import { maxNameLength, nameSchema } from '../../core/base/name.ts';
import { object } from '../../core/base/schema.ts';
import { accountLimitsOf } from '../../core/http/account-limits.ts';
import { type BodyReader, bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { json } from '../../core/http/operation.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { beyondConversion, checkLength, maxFrameRate } from '../../core/ports/converter.ts';
import type { VideoSpec } from '../../core/ports/recorder.ts';
import { profileProblems, type RenditionProfile } from '../../core/ports/transcoder.ts';
import { assetNotFound, assetNotReady, assets, orderFaults, outputOf } from '../assets/contract.ts';
import { profileSchema } from '../renditions/contract.ts';
import type { TaskKind, TaskResult, TaskWork } from '../tasks/contract.ts';

/** `POST /api/asset/:id/transcode`: makes a new asset from another, by a task. */
export function routes(kit: Kit): AnyElysia {
  const made = kit.use(assets);
  const { once } = keyedRoutes(kit);
  return new Elysia().post(
    '/api/asset/:id/transcode',
    once(async ({ request, params: { id: inputAssetId }, principal, id, caller }) => {
      const { accountId: account, keyName: createdByTokenName } = principal;
      const input = await made.find(inputAssetId);
      // Before the body: another account's asset is 404, whatever is sent.
      if (input?.account !== account) throw assetNotFound(inputAssetId);
      const body = await transcodeBody.read(request);
      checkProfile(body);
      if (input.status !== 'ready' || !input.file) throw assetNotReady(input);
      const problem = problemOf(input.file.spec);
      if (problem !== undefined) throw new Fault('transcode.refused', { status: 422, message: problem });
      const { profile, name = nameOf(input, profile) } = body;
      const source = { type: 'transcode', inputAssetId } as const;
      await accountLimitsOf(kit)?.encode(account, input.file.spec.duration);
      const given = { id, account, name, source, createdByTokenName, params: { profile } };
      return Response.json(await made.order(given, caller), { status: 201 });
    }),
    says(
      'Transcodes an asset with a profile into a new asset. Answers 201 with the new asset and the task that makes it; the task shows the progress.',
      {
        name: 'transcodeAsset',
        body: transcodeBody,
        answers: {
          201: json(object(made.ordered), 'The new asset, which waits, and the task.'),
        },
        faults: ['asset.not_ready', 'transcode.refused', ...orderFaults],
      },
    ),
  );
}

/** The name of an asset that was given none. */
function nameOf({ name }: { readonly name: string }, profile: { readonly name: string }): string {
  return [...`${name} (${profile.name})`].slice(0, maxNameLength).join('');
}

/** bit/s. */
const maxBitrate = 200_000_000;

/** The body of `POST /api/asset/:id/transcode`. */
const transcodeBody = bodyReader(
  { name: Type.Optional(nameSchema('Friday show, 480p')), profile: profileSchema },
  {
    example: { profile: { name: '480p', width: 854, height: 480, bitrate: 1_000_000, fps: 0 } },
  },
);

export type TranscodeBody = typeof transcodeBody extends BodyReader<infer B> ? B : never;

/** Bounds beyond the schema, which is shared with streams. Throws `body.invalid` (422). */
function checkProfile({ profile }: TranscodeBody): void {
  const { bitrate, fps, fpsDen = 1 } = profile;
  const problems = profileProblems(profile).map((problem) => `profile.${problem}`);
  // As in the field of streams, where it names what the encoder sends.
  if (profile.name === 'source') problems.push('profile.name: "source" is reserved; choose another name');
  if (bitrate > maxBitrate) problems.push(`profile.bitrate: expected at most ${maxBitrate} bit/s`);
  if (fps / fpsDen > maxFrameRate)
    problems.push(`profile.fps: expected at most ${maxFrameRate} pictures a second (fps / fpsDen)`);
  if (problems.length > 0) throw new Fault('body.invalid', { status: 422, message: problems });
}

/** Tasks of the type `transcode`. A repeat makes the film again, unless its asset has it already. */
export function transcodeKind(kit: Kit): TaskKind {
  return {
    type: 'transcode',
    async renew(task) {
      const input = await kit.use(assets).inputOf(task);
      if (!input) throw new Fault('task.not_possible', { status: 409, message: gone });
      await kit.use(assets).renew(task);
      return {};
    },
    async run(work) {
      try {
        return await run(work, kit);
      } catch (error) {
        // What ffmpeg made was refused: another try would make the same.
        if (hasCode(error, 'upload.refused') || hasCode(error, 'upload.not_allowed'))
          return { outcome: 'failed', message: error.message };
        throw error;
      }
    },
  };
}

async function run(work: TaskWork, kit: Kit): Promise<TaskResult> {
  const { inputAssetId, signal } = work;
  if (inputAssetId === null) throw new TypeError(`transcode ${work.id} is of no asset`);
  const made = kit.use(assets);
  const output = await made.ofWork(work, { type: 'transcode', inputAssetId });
  if (!output) return { outcome: 'failed', message: deleted };
  // An earlier try got so far, but its end was lost.
  if (output.file) return { outcome: 'done', output: outputOf(output.file, output) };
  const film = await made.inputOf(work);
  if (!film) return { outcome: 'failed', message: gone };
  const problem = problemOf(film.spec);
  if (problem !== undefined) return { outcome: 'failed', message: problem };
  // It was checked when the request came.
  const { profile } = work.params as { profile: RenditionProfile };
  const progress = (fraction: number) => work.progress(fraction * converted);
  const converting = kit.use(services.converter).transcode(film, {
    ...{ account: work.account, profile, signal, progress },
  });
  const taken = await made.take(output.id, converting, {
    signal,
    check: ({ duration }) => checkLength(duration, film.spec.duration - intervalOf(profile)),
  });
  if (taken === 'gone') return { outcome: 'failed', message: deleted };
  return { outcome: 'done', output: taken };
}

/** Seconds that may be missing at the end, where pictures are left out. */
function intervalOf({ fps, fpsDen = 1 }: RenditionProfile): number {
  return fps > 0 ? fpsDen / fps : 0;
}

const gone = 'The source asset was deleted.';
const deleted = 'The asset of this transcode was deleted.';
/** Progress when the film is made but not stored. */
const converted = 0.97;

/** Why a film is not transcoded, as a sentence; undefined when it is. */
function problemOf(spec: VideoSpec): string | undefined {
  const why = beyondConversion(spec);
  return why === undefined ? undefined : `The asset cannot be transcoded: ${why}.`;
}
