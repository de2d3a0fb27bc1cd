import type { Cidr } from '../../core/base/cidr.ts';
import { Fault } from '../../core/base/fault.ts';
import { hostOf } from '../../core/base/host.ts';
import type { Log } from '../../core/base/log.ts';
import { type Caller, callers, hostPath } from '../../core/http/caller.ts';
import { type ErrorForms, isAtOrBelow } from '../../core/http/error-format.ts';
import type { HostPaths } from '../../core/http/hosts.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import type { RouteGroup } from '../http/openapi/routes.ts';

/** A plugin whose config is valid, and how errors name it. */
interface Speaker {
  readonly plugin: Plugin;
  readonly config: unknown;
  readonly culprit: string;
}

/** What is wrong with host names, paths and RTMP applications that plugins declare for the dialects that they speak. */
export function dialectProblems(speakers: readonly Speaker[]): string[] {
  const owners = new Map<string, string>();
  const twice = (what: string, culprit: string): string[] => {
    const owner = owners.get(what);
    owners.set(what, culprit);
    return owner === undefined ? [] : [`${what} is declared twice: by ${owner} and ${culprit}`];
  };
  return speakers.flatMap((speaker) => {
    const { culprit } = speaker;
    try {
      const hosts = hostsOf(speaker);
      const folders = foldersOf(speaker);
      return [
        ...ownProblems(speaker).map((problem) => `plugin ${culprit}: ${problem}`),
        ...hosts.flatMap(({ host }) => twice(`host ${host}`, culprit)),
        ...folders.flatMap((path) => twice(`the path of errors ${path}`, culprit)),
      ];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return [`plugin ${culprit}: its hosts, errors or rtmpApps could not be read: ${reason}`];
    }
  });
}

function ownProblems(speaker: Speaker): string[] {
  const hosts = hostsOf(speaker);
  return [
    ...hosts
      .filter(({ host }) => !isHostName(host))
      .map(({ host }) => `${host} is no host name; expected one such as stream.example.com, without a port`),
    ...hosts
      .filter(({ path }) => !pathPattern.test(path))
      .map(({ host, path }) => `the path of ${host} is ${path}; expected one such as /mux/stream`),
    ...foldersOf(speaker)
      .filter((path) => !pathPattern.test(path))
      .map((path) => `the path of its errors is ${path}; expected one such as /mux`),
    ...appsOf(speaker)
      .filter((app) => !appPattern.test(app))
      .map((app) => `${app} is no RTMP application; expected one such as app`),
  ];
}

/** Segments that need no encoding; neither the root nor a slash at the end. */
const pathPattern = /^(\/(?!\.+(\/|$))[A-Za-z0-9._~-]+)+$/;
const appPattern = /^[A-Za-z0-9_-]{1,64}(\/[A-Za-z0-9_-]{1,64}){0,3}$/;

/** What plugins declare for dialects, for the parts of the program that need it. */
export interface Dialects {
  caller(request: Request): Caller;
  /** Undefined where no plugin has host names. */
  readonly hostPath: ((request: Request) => string | undefined) | undefined;
  /** Beside `live`. */
  readonly rtmpApps: readonly string[];
}

/** Fault `boot.invalid` when a plugin takes the host name of `publicUrl`. */
export function dialectsOf(plan: readonly Speaker[], options: DialectOptions): Dialects {
  const { trusted, publicUrl, isFixed, log } = options;
  const declared = plan.flatMap((one) => hostsOf(one).map((host) => ({ ...host, culprit: one.culprit })));
  const hosts: HostPaths = new Map(declared.map(({ host, path }) => [host, path]));
  const own = new URL(publicUrl).hostname;
  const taken = declared.find(({ host }) => host === own);
  if (taken) {
    const message = `plugin ${taken.culprit}: the host ${own} is that of publicUrl, which all other routes need`;
    throw new Fault('boot.invalid', { status: 500, message });
  }
  if (hosts.size > 0 && !isFixed) {
    const names = [...hosts.keys()];
    log.warn('publicUrl is not set: it is the base of URLs in answers at host names of plugins', {
      ...{ hosts: names, publicUrl },
    });
  }
  return {
    caller: callers({ trusted, publicUrl, isFixed, hosts }),
    hostPath: hosts.size > 0 ? hostPath({ trusted, hosts }) : undefined,
    rtmpApps: plan.flatMap(appsOf),
  };
}

interface DialectOptions {
  /** Blocks of proxies whose `X-Forwarded-*` is believed. */
  readonly trusted: readonly Cidr[];
  readonly publicUrl: string;
  /** `publicUrl` was configured. */
  readonly isFixed: boolean;
  readonly log: Log;
}

/** In which form errors are written, by the routes of the plugins and by their paths; undefined where all have the usual one. */
export function errorFormsOf(
  plan: readonly Speaker[],
  groups: readonly RouteGroup[],
): ErrorForms | undefined {
  const speaking = plan.filter(({ plugin }) => plugin.errors);
  if (speaking.length === 0) return undefined;
  const byRoute = new Map(
    speaking.flatMap(({ plugin }) =>
      groups
        .filter(({ id }) => id === plugin.id)
        .flatMap(({ app }) => app.routes.map(({ method, path }) => [`${method} ${path}`, plugin.errors])),
    ) as [string, Plugin['errors']][],
  );
  const byPath = speaking.flatMap((one) =>
    foldersOf(one).map((folder) => ({ folder, form: one.plugin.errors })),
  );
  return ({ method, url }, route) => {
    const own = route && byRoute.get(`${method === 'HEAD' ? 'GET' : method} ${route}`);
    if (own) return own;
    const { pathname } = new URL(url);
    return byPath.find(({ folder }) => isAtOrBelow(pathname, folder))?.form;
  };
}

/** Paths whose errors are all in the form of the plugin. */
export function foldersOf({ plugin, config }: Pick<Speaker, 'plugin' | 'config'>): readonly string[] {
  return plugin.errors?.below?.(config as never) ?? [];
}

function appsOf({ plugin, config }: Pick<Speaker, 'plugin' | 'config'>): readonly string[] {
  return plugin.rtmpApps?.(config as never) ?? [];
}

/** Names in small letters, without a dot at the end. */
function hostsOf({ plugin, config }: Speaker): { readonly host: string; readonly path: string }[] {
  return Object.entries(plugin.hosts?.(config as never) ?? {}).map(([name, path]) => ({
    host: hostOf(name)?.host ?? name,
    path,
  }));
}

function isHostName(host: string): boolean {
  const known = hostOf(host);
  return known !== undefined && !known.isAddress && /[a-z]/.test(host);
}
