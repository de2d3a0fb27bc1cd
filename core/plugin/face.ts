import type { TObject } from '@sinclair/typebox';
import { collection, kebabProblem } from './token.ts';

/**
 * What plugins add to the dashboard, the command line and the MCP server. Data alone: functions here run where those run, not in the
 * plugin, so the `make` of an offer uses nothing of its kit but `config`.
 */

/** A page of the dashboard. */
export interface DashboardPage extends DashboardModule {
  /** Kebab-case; its address in the dashboard is `/<id>`. */
  readonly id: string;
  readonly title: string;
  /** Path below `/api` that a key must be allowed to GET for the page to be shown, such as `data/views/:id`. Default: none. */
  readonly scope?: string;
}

/** A panel beside what the dashboard shows of one object. */
export interface DashboardPanel extends DashboardModule {
  readonly id: string;
  readonly title: string;
  readonly on: 'stream' | 'asset';
}

interface DashboardModule {
  /** Path of a JavaScript module that a route of the plugin serves. Its export `mount(element, context)` fills an element. */
  readonly module: string;
}

/** A column of a list in the dashboard. */
export interface DashboardColumn {
  readonly resource: 'stream' | 'asset' | 'session' | 'task' | 'webhook';
  /** Name of the field of the resource that it shows. */
  readonly field: string;
  readonly title: string;
  readonly format?: 'text' | 'number' | 'bytes' | 'duration' | 'moment' | 'flag';
}

/** A command of the command line: `millrace <name>`. */
export interface Command<Client = never> {
  /** Kebab-case. */
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  /** Schema of its arguments: `--name value`, by the names of its properties. */
  readonly args?: TObject;
  /** Resolves with the exit code; default 0. `client` calls the server that the user named, with their key. */
  run(context: {
    readonly client: Client;
    readonly args: Readonly<Record<string, unknown>>;
    readonly signal: AbortSignal;
    /** Writes a line to the standard output. */
    write(line: string): void;
  }): Promise<number | undefined>;
}

/** A tool of the MCP server. */
export interface Tool<Client = never> {
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  /** What it does and when to use it, for a model. */
  readonly description: string;
  readonly input: TObject;
  /** Resolves with what the model reads: text, or JSON. `client` has the key of the user of the MCP server. */
  run(context: {
    readonly client: Client;
    /** Fits `input`. */
    readonly input: Readonly<Record<string, unknown>>;
    readonly signal: AbortSignal;
  }): Promise<unknown>;
}

export const dashboardPages = collection<DashboardPage>('face.pages', {
  what: 'dashboard page',
  name: ({ id }) => id,
  problem: (page) => kebabProblem(page.id) ?? textProblem('title', page.title) ?? moduleProblem(page),
});

export const dashboardPanels = collection<DashboardPanel>('face.panels', {
  what: 'dashboard panel',
  name: ({ id }) => id,
  problem: (panel) =>
    kebabProblem(panel.id) ??
    textProblem('title', panel.title) ??
    moduleProblem(panel) ??
    (['stream', 'asset'].includes(panel.on) ? undefined : 'expected `on` to be stream or asset'),
});

export const dashboardColumns = collection<DashboardColumn>('face.columns', {
  what: 'dashboard column',
  name: ({ resource, field }) => `${resource}.${field}`,
  problem: ({ resource, field, title }) =>
    (resources.includes(resource)
      ? undefined
      : `expected \`resource\` to be one of ${resources.join(', ')}`) ??
    textProblem('field', field) ??
    textProblem('title', title),
});
const resources: readonly DashboardColumn['resource'][] = ['stream', 'asset', 'session', 'task', 'webhook'];

export const commands = collection<Command>('face.commands', {
  what: 'command',
  name: ({ name }) => name,
  problem: ({ name, summary, run }) =>
    kebabProblem(name) ?? textProblem('summary', summary) ?? functionProblem(run),
});

export const tools = collection<Tool>('face.tools', {
  what: 'tool',
  name: ({ name }) => name,
  problem: ({ name, description, input, run }) =>
    (/^[A-Za-z0-9_-]{1,64}$/.test(name)
      ? undefined
      : 'expected a name of 1 to 64 letters, digits, _ and -') ??
    textProblem('description', description) ??
    (input?.type === 'object' ? undefined : 'expected `input` to be the schema of an object') ??
    functionProblem(run),
});

function textProblem(name: string, value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? undefined : `expected a text as \`${name}\``;
}

function moduleProblem({ module }: DashboardModule): string | undefined {
  return /^\/[^/\s?#][^\s?#]*$/.test(module)
    ? undefined
    : 'expected `module` to be a path such as /acme/page.js';
}

function functionProblem(run: unknown): string | undefined {
  return typeof run === 'function' ? undefined : 'expected `run` to be a function';
}
