import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { durationSchema } from '../../core/base/config-fields.ts';
import { object, optional } from '../../core/base/schema.ts';
import { auditLogs } from '../../core/http/audit.ts';
import { authenticator } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { idSchema, momentSchema } from '../../core/http/operation.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';
import { type AuditKit, keepingOf, kind, shownOf, sweeping } from './entries.ts';

const config = Type.Object({
  keep: durationSchema('How long entries of the audit log are kept.', { default: '90d' }),
});

/** Fields by which entries are filtered. */
const fields = {
  id: { type: 'string' },
  at: { type: 'number', path: ['createdAt'] },
  action: { type: 'string' },
  target: { type: 'string' },
  keyId: { type: 'string' },
} as const;

const entrySchema = object(
  {
    id: idSchema,
    at: momentSchema,
    actor: object({
      keyId: optional.string({
        description: 'Id of the API key. Absent for the bootstrap key.',
        examples: idSchema.examples,
      }),
      accountId: optional.string({
        description: 'Account of the API key. Absent where nobody was signed in.',
        examples: idSchema.examples,
      }),
      ip: optional.string({ description: 'IP address of the client.', examples: ['192.0.2.7'] }),
    }),
    action: Type.String({
      description: 'Method and path of the call, as in this reference.',
      examples: ['DELETE /api/stream/{id}'],
    }),
    target: optional.string({
      description: 'Id of what it was done to.',
      examples: idSchema.examples,
    }),
    detail: object({
      code: optional.string({
        description: 'Why a sign-in failed.',
        examples: ['sign_in.refused'],
      }),
    }),
  },
  { $id: 'AuditEntry' },
);

/** Who did what, from where and when: accounts, keys, deletions, sign-ins. */
export default definePlugin({
  id: 'audit',
  summary: 'who made and deleted API keys, deleted things, and failed to sign in',
  config,
  needs: [authenticator],
  offers: [offer(auditLogs, (kit: AuditKit) => keepingOf(kit))],
  duties: { sweep: sweeping },
  routes(kit) {
    const { keyed } = keyedRoutes(kit);
    const list = resourceList({ kind, fields, caller: kit.caller, resources: kit.resources });
    return new Elysia().get(
      '/api/audit',
      keyed(({ request, principal: { accountId: account, isAdmin } }) =>
        list(request, { ...(!isAdmin && { account }), present: shownOf }),
      ),
      says(
        'Lists who did what, newest first: accounts and API keys that were made, stream keys that were replaced, everything that was deleted, sign-ins. A key of the admin account sees all accounts.',
        {
          name: 'listAudit',
          query: listParameters(fields),
          answers: { 200: listAnswer(entrySchema) },
          faults: ['query.invalid'],
        },
      ),
    );
  },
});
