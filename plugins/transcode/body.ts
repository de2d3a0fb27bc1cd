import { Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { nameSchema } from '../../core/base/name.ts';
import { type BodyReader, bodyReader } from '../../core/http/body.ts';
import { maxFrameRate } from '../../core/ports/converter.ts';
import { profileProblems } from '../../core/ports/transcoder.ts';
import { profileSchema } from '../renditions/contract.ts';

/** bit/s. */
const maxBitrate = 200_000_000;

/** The body of `POST /api/asset/:id/transcode`. */
export const transcodeBody = bodyReader(
  { name: Type.Optional(nameSchema('Friday show, 480p')), profile: profileSchema },
  {
    example: { profile: { name: '480p', width: 854, height: 480, bitrate: 1_000_000, fps: 0 } },
  },
);

export type TranscodeBody = typeof transcodeBody extends BodyReader<infer B> ? B : never;

/** Bounds beyond the schema, which is shared with streams. Throws `body.invalid` (422). */
export function checkProfile({ profile }: TranscodeBody): void {
  const { bitrate, fps, fpsDen = 1 } = profile;
  const problems = profileProblems(profile).map((problem) => `profile.${problem}`);
  // As in the field of streams, where it names what the encoder sends.
  if (profile.name === 'source') problems.push('profile.name: "source" is reserved; choose another name');
  if (bitrate > maxBitrate) problems.push(`profile.bitrate: expected at most ${maxBitrate} bit/s`);
  if (fps / fpsDen > maxFrameRate)
    problems.push(`profile.fps: expected at most ${maxFrameRate} pictures a second (fps / fpsDen)`);
  if (problems.length > 0) throw new Fault('body.invalid', { status: 422, message: problems });
}
