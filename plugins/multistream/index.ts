import { authenticator } from '../../core/auth.ts';
import { definePlugin } from '../../core/plugin.ts';
import { config } from './config.ts';
import { multistream } from './field.ts';
import { routes } from './routes.ts';

/** Multistream targets, and the field by which streams name them. Nothing is pushed yet. */
export default definePlugin({
  id: 'multistream',
  summary: 'multistream targets and the multistream field',
  needs: [authenticator],
  extends: [multistream],
  config,
  faults: {
    'multistream.invalid': {
      status: 400,
      meaning:
        'A target of the multistream field is unknown, there twice, wants an unknown profile, has not exactly one of id and spec, or a URL that is none.',
    },
    'target.not_found': {
      status: 404,
      meaning: 'There is no multistream target of this id in your account.',
    },
    'target.too_many': {
      status: 403,
      meaning: 'The account has as many multistream targets as it may have (plugins.multistream.maxTargets).',
    },
    'target.busy': {
      status: 409,
      meaning: 'Others change this target; nothing was changed. Try again.',
    },
  },
  routes,
});
