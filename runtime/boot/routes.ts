import { Elysia } from 'elysia';
import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import type { Caller } from '../../core/http/caller.ts';
import { FaultCauses } from '../../core/http/fault-causes.ts';
import { type HttpCore, httpCore } from '../../core/http/http.ts';
import type { OwnRequests } from '../../core/http/own-request.ts';
import { RequestCounts } from '../../core/http/request-counts.ts';
import { routesOf } from '../../core/http/routes.ts';
import { coreFaults } from '../../core/plugin/fault-table.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { healthRoutes, type Readiness } from '../http/health.ts';
import { landingRoute } from '../http/landing.ts';
import { type OpenApi, openApi } from '../http/openapi/document.ts';
import { openApiRoute } from '../http/openapi/route.ts';
import type { RouteGroup } from '../http/openapi/routes.ts';
import { type Dialects, errorFormsOf, foldersOf } from './dialects.ts';
import type { PlannedPlugin } from './plan.ts';
import type { PluginRoutes } from './plugin-starts.ts';
import { metricsRoute } from './program-metrics.ts';

/** The routes of core and plugins: `app` for everyone, `internal` for other nodes, and the OpenAPI document of `app`. */
export function mountRoutes(options: RoutesOptions): {
  app: HttpCore;
  internal: HttpCore;
  document: () => OpenApi;
} {
  const { declared, clock, log, metrics, caller, publicUrl } = options;
  let document: () => OpenApi;
  const core = new Elysia()
    .use(healthRoutes(options.readiness))
    .use(metricsRoute(metrics))
    .use(openApiRoute({ document: () => document(), caller }));
  const pages = routesOf([core, ...declared.map(({ app }) => app)]).filter(({ method }) => method === 'GET');
  if (!pages.some(({ path }) => path === '/')) {
    const here = pages.filter(({ hooks }) => options.hasApi || hooks?.detail?.operation?.isOnEveryNode);
    core.use(landingRoute({ paths: new Set(here.map(({ path }) => path)) }));
  }
  const groups: RouteGroup[] = [{ id: 'core', summary: 'the program itself', app: core }];
  for (const { planned, app } of declared) {
    const { plugin, culprit } = planned;
    groups.push({ id: plugin.id, culprit, summary: plugin.summary, app, ...errorsOf(planned) });
  }
  const faults = Object.assign({}, coreFaults, ...declared.map(({ planned }) => planned.plugin.faults ?? {}));
  document = openApi({ groups, faults, publicUrl });

  const causes = new FaultCauses({ clock, log });
  const plan = declared.map(({ planned }) => planned);
  const errorForms = errorFormsOf(plan, groups);
  const app = httpCore({
    ...{ log, causes },
    counts: new RequestCounts({ metrics, clock }),
    routes: groups.map((group) => group.app),
    hasApi: options.hasApi,
    ...(errorForms && { errorForms }),
    ...(options.hostPath && { hostPath: options.hostPath }),
  });
  options.own.serve(app.handle);
  const internal = httpCore({ ...{ log, causes }, routes: declared.map((one) => one.internal) });
  return { app, internal, document };
}

/** The form of a plugin's errors, for the document. */
function errorsOf(one: PlannedPlugin): Pick<RouteGroup, 'errors'> {
  const { errors } = one.plugin;
  return errors ? { errors: { schema: errors.schema, below: foldersOf(one) } } : {};
}

interface RoutesOptions {
  readonly declared: readonly PluginRoutes[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly publicUrl: string;
  readonly own: OwnRequests;
  /** This node answers API clients; others answer only routes that are on every node. */
  readonly hasApi: boolean;
  caller(request: Request): Caller;
  readonly hostPath: Dialects['hostPath'];
  readiness(): Readiness;
}
