import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { object, oneOf, optional } from '../../core/base/schema.ts';
import { notAllowed } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { json, momentSchema } from '../../core/http/operation.ts';
import { allRoles, type KnownNode } from '../../core/plugin/nodes.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';

/** `/api/system`: the program and its config on the node that answers, and the nodes of the deployment. */
export function programRoutes(kit: Kit): AnyElysia {
  const { keyed } = keyedRoutes(kit);
  const program = kit.use(services.program);
  const { nodes } = kit.deployment;
  return new Elysia().get(
    '/api/system',
    keyed(async ({ principal }) => {
      if (!principal.isAdmin) throw notAllowed('only keys of the admin account can see the system');
      const { version, startedAt } = program;
      const { id, roles } = nodes.own;
      const disk = await program.disk();
      return Response.json({
        ...{ version, startedAt, node: { id, roles }, nodes: (await nodes.list()).map(shownNode) },
        ...{ plugins: program.plugins(), config: program.config(), ...(disk && { disk }) },
        issues: program.issues(),
      });
    }),
    says(
      'The server: plugins, config in force, disk and issues of the node that answers, and all nodes. Secrets are hidden. Only for keys of the admin account.',
      { name: 'getSystem', answers: { 200: json(systemSchema, 'The server.') } },
    ),
  );
}

function shownNode({ id, roles, url, ingestUrl, region, isAlive, heardAt }: KnownNode) {
  return {
    ...{ id, roles, ...(url !== undefined && { url }), ...(ingestUrl !== undefined && { ingestUrl }) },
    ...{ ...(region !== undefined && { region }), isAlive, seenAt: heardAt },
  };
}

const nodeId = Type.String({ examples: ['local'] });
const roles = Type.Array(oneOf(allRoles), { examples: [['api', 'media']] });

const nodeSchema = object({
  ...{ id: nodeId, roles },
  url: optional.string({ description: 'Where other nodes reach it.', examples: ['http://10.0.0.7:8080'] }),
  ingestUrl: optional.string({
    description: 'Where encoders reach it.',
    examples: ['rtmp://fra-rtmp.example.com/live'],
  }),
  region: optional.string({ examples: ['fra'] }),
  isAlive: Type.Boolean({ description: 'Its heartbeats come.' }),
  seenAt: momentSchema,
});

const pluginSchema = object({
  id: Type.String({ examples: ['streams'] }),
  summary: optional.string({
    description: 'Absent for one that is not loaded.',
    examples: ['the dashboard'],
  }),
  state: oneOf(['on', 'failed', 'off'], {
    description:
      '`failed`: it could not be started, or needs a plugin that could not. `off`: the config switches it off.',
  }),
  startMs: optional.number({ description: 'How long its start took, ms.', examples: [3] }),
  error: optional.string({
    description: 'Why it failed, as the end of a sentence. The log says more.',
    examples: ['it could not be started'],
  }),
});

const configSchema = object({
  key: Type.String({ examples: ['http.port'] }),
  value: Type.Optional(
    Type.Unknown({
      description: 'As in the config. Absent: not set. A secret that is set is `••••`.',
      examples: [8080],
    }),
  ),
  source: oneOf(['default', 'file', 'environment'], { description: 'Where the value is from.' }),
  isSecret: Type.Boolean({ description: 'The value, or a part of it, is hidden.', examples: [false] }),
});

const systemSchema = object(
  {
    version: Type.String({ examples: ['0.1.0'] }),
    startedAt: momentSchema,
    node: object({ id: nodeId, roles }, { description: 'The node that answers.' }),
    nodes: Type.Array(nodeSchema),
    plugins: Type.Array(pluginSchema),
    config: Type.Array(configSchema),
    disk: Type.Optional(
      object(
        {
          dataDir: Type.String({ examples: ['./data'] }),
          freeBytes: Type.Number({ examples: [53687091200] }),
          totalBytes: Type.Number({ examples: [107374182400] }),
        },
        { description: 'The disk of the data folder; absent when the system does not answer.' },
      ),
    ),
    issues: Type.Array(Type.String(), {
      description: 'Those of `/health/ready`.',
      examples: [['A disk is nearly full: nothing is recorded. Free some space.']],
    }),
  },
  { $id: 'System' },
);
