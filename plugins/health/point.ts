import { type Static, Type } from '@sinclair/typebox';
import { object } from '../../core/base/schema.ts';
import { momentSchema } from '../../core/http/operation.ts';

const measured = (description: string, example: number) =>
  Type.Number({ minimum: 0, description, examples: [example] });

/** Health of a broadcast over 5 seconds, as the API shows it. */
export const pointSchema = object(
  {
    time: momentSchema,
    ingestRate: measured('bit/s', 4_200_000),
    fps: measured('Frames per second as they arrived.', 30),
    keyFrameInterval: measured('Longest, seconds.', 2),
    jitter: measured('Greatest difference of delays, ms.', 12),
    dropped: measured('Missing media, ms.', 0),
    late: measured('Messages that came 2 s late or more.', 0),
    viewerCount: measured('Different viewers of the last seconds.', 12),
    isHealthy: Type.Boolean({ description: 'There was no issue.', examples: [true] }),
    issues: Type.Array(Type.String(), {
      description: 'In plain words, what to do about it.',
      examples: [[]],
    }),
  },
  { $id: 'HealthPoint' },
);

export type Point = Static<typeof pointSchema>;
