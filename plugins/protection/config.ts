import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/base/config-fields.ts';
import { oneOf, optional } from '../../core/base/schema.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  session: durationSchema(
    'How long a player that was let in may go on, though its token expires. It ends sooner when the signing key is deleted, the policy is changed, or the viewer is revoked.',
    { default: '12h', atLeast: '1m', atMost: '30d' },
  ),
  sharedMedia: Type.Boolean({
    default: false,
    description:
      'Lets shared caches keep the segments of private videos, by their path and without the token. Whoever knows the path of a segment may then get it from the cache, also after a viewer was cut off: only for a CDN that checks viewers itself.',
  }),
  publishWebhook: optional.string({
    maxLength: 2048,
    description:
      'Is asked before each broadcast of every account is accepted. It may be at an address of your own network.',
  }),
  webhookSecret: Type.Optional(
    Type.String({
      minLength: 16,
      maxLength: 256,
      isSecret: true,
      description:
        'Signs the requests to `publishWebhook`, and to the webhook of `plugins.playback.policy`, as those of webhooks are signed.',
    }),
  ),
  onError: oneOf(['refuse', 'allow'], {
    default: 'refuse',
    description: 'What holds while `publishWebhook` does not answer.',
  }),
});

export type ProtectionKit = Kit<typeof config>;
