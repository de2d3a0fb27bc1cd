import { type Static, Type } from '@sinclair/typebox';
import { nameSchema } from '../../core/base/name.ts';
import { object } from '../../core/base/schema.ts';

/** Name of the field on streams. */
export const profilesField = 'profiles';

const seconds = '(?!0*(\\.0*)?$)[0-9]{1,6}(\\.[0-9]{1,6})?';

/** One rendition that viewers can be given beside the source. */
export const profileSchema = object(
  {
    name: nameSchema('720p'),
    width: Type.Integer({ minimum: 128, examples: [1280] }),
    height: Type.Integer({ minimum: 128, examples: [720] }),
    bitrate: Type.Integer({ minimum: 400, description: 'bit/s', examples: [3_000_000] }),
    fps: Type.Integer({ minimum: 0, description: "0 = the source's; never more than it has" }),
    fpsDen: Type.Optional(Type.Integer({ minimum: 1 })),
    gop: Type.Optional(
      Type.String({
        pattern: `^(intra|${seconds})$`,
        expected: 'seconds, such as "2", or "intra"',
        examples: ['2'],
      }),
    ),
    profile: Type.Optional(
      Type.Union(
        ['H264Baseline', 'H264Main', 'H264High', 'H264ConstrainedHigh'].map((name) => Type.Literal(name)),
        { expected: 'H264Baseline, H264Main, H264High or H264ConstrainedHigh' },
      ),
    ),
    encoder: Type.Optional(Type.Literal('H.264')),
  },
  { $id: 'Profile' },
);

export type Profile = Static<typeof profileSchema>;
