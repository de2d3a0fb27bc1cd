import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { authenticate, authenticator } from '../../core/auth.ts';
import { bodyReader } from '../../core/body.ts';
import { says } from '../../core/http.ts';
import { nothing } from '../../core/operation.ts';
import { definePlugin } from '../../core/plugin.ts';
import { field } from '../../core/resource.ts';
import { setFieldsFaults, stream, streams } from '../streams/contract.ts';

const recordSchema = Type.Boolean({ description: 'Whether new sessions are recorded.' });

/** Which streams are recorded. For now it owns the `record` field alone; nothing is recorded yet. */
export default definePlugin({
  id: 'recordings',
  summary: 'the record field of streams',
  needs: [authenticator, streams],
  extends: [field(stream, 'record', { schema: recordSchema, initial: false })],
  routes(kit) {
    const keys = kit.use(authenticator);
    const body = bodyReader({ record: Type.Boolean() });
    return new Elysia().patch(
      '/api/stream/:id/record',
      async ({ request, params }) => {
        const principal = await authenticate(request, keys);
        const { record } = await body.read(request);
        await kit.use(streams).setFields(principal, { id: params.id, fields: { record } });
        return new Response(null, { status: 204 });
      },
      says('Sets whether new sessions are recorded. 204.', {
        name: 'setRecord',
        body,
        answers: { 204: nothing },
        faults: setFieldsFaults,
      }),
    );
  },
});
