import {
  authenticator,
  bodyReader,
  definePlugin,
  Elysia,
  json,
  type Kit,
  keyedRoutes,
  nothing,
  object,
  says,
  services,
  Type,
  tools,
} from '../../sdk/plugin.ts';
import { refuseForeignPage } from './origin.ts';
import { answerMessage, faultAnswer, type Message } from './protocol.ts';
import { toolsOf } from './tools.ts';

const path = '/mcp';

/** A message of the server. */
const id = Type.Union([Type.String(), Type.Integer(), Type.Null()]);
const answerSchema = object({
  ...{ jsonrpc: Type.Literal('2.0'), id },
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(
    object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
  ),
});

/** The API as tools for models, by the Model Context Protocol. */
export default definePlugin({
  id: 'mcp',
  summary: 'the API as tools for models (MCP)',
  needs: [authenticator, services.program],
  errors: {
    below: () => [path],
    schema: answerSchema,
    answer: (fault) => faultAnswer(fault),
  },
  routes: (kit) => new Elysia().use(mcpRoutes(kit)),
});

const instructions =
  'Millrace is a live and on-demand video platform. Find an operation with search, see what it takes with describe, run it with call. To find out why a broadcast had problems, use diagnose.';

function mcpRoutes(kit: Kit) {
  // Each call asks what the key may do; that there is this server is for every key.
  const { keyed } = keyedRoutes(kit, { isForAnyKey: true });
  const anything = Type.Optional(Type.Unknown());
  const body = bodyReader(
    {
      jsonrpc: anything,
      id: anything,
      method: anything,
      params: anything,
      result: anything,
      error: anything,
    },
    { example: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
  );
  const { version } = kit.use(services.program);
  let made: ReturnType<typeof toolsOf> | undefined;
  return new Elysia().post(
    path,
    keyed(async ({ request, principal }) => {
      refuseForeignPage(request, { principal, publicUrl: kit.deployment.publicUrl });
      const message = (await body.read(request)) as Message;
      made ??= toolsOf({ offered: kit.offered(tools), path });
      const { list, run } = made;
      const asker = { request, principal, kit };
      return answerMessage(message, {
        request,
        server: {
          ...{ info: { name: 'millrace', version }, instructions },
          tools: () => list,
          run: (name, input) => run(name, { input, asker }),
        },
      });
    }),
    says('A message of the Model Context Protocol (streamable HTTP, JSON answers, no sessions).', {
      name: 'postMcpMessage',
      hasNoIdempotencyKey: true,
      body,
      answers: {
        200: json(answerSchema, 'The answer to a request.'),
        202: { ...nothing, description: 'A notification was read.' },
        400: json(
          answerSchema,
          'It is no message of the protocol, or of a revision that the server has not.',
        ),
        404: json(answerSchema, 'There is no such method.'),
      },
    }),
  );
}
