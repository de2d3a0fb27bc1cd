import type { TObject, TSchema } from '@sinclair/typebox';
import { readConfig } from '../config/load.ts';
import { importPlugins } from '../config/plugins.ts';
import { Fault } from '../core/base/fault.ts';
import { commands as commandsOfPlugins, type Command as PluginCommand } from '../core/plugin/face.ts';
import { settingsOf } from '../core/plugin/settings.ts';
import type { Offer } from '../core/plugin/token.ts';
import { planOf } from '../runtime/boot/plan.ts';
import type { Client } from '../sdk/client/index.ts';
import { type Command, exits, Failure, type Given, type Option, print } from './command.ts';
import { connectionOf, serverOptions } from './connection.ts';
import { untilInterrupted } from './interruption.ts';

const configOption = {
  type: 'string',
  value: 'FILE',
  summary: 'config of the deployment that has the plugin. Default: the one that MILLRACE_CONFIG names',
} as const satisfies Option;

/** Options that each command of a plugin has besides its own. */
const shared = { config: configOption, server: serverOptions.server, key: serverOptions.key };

/** Config file that the words of a command line name, or else the environment. */
export function configIn(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => word === '--config' || word.startsWith('--config='));
  if (at < 0) return process.env.MILLRACE_CONFIG;
  return words[at] === '--config' ? words[at + 1] : words[at]?.slice('--config='.length);
}

/** Commands of the plugins that a config enables; those of plugins that ship need none. Rejects with a `Failure` where it is wrong. */
export async function pluginCommands(config: string): Promise<readonly Command[]> {
  const { plan, problems } = await planned(config);
  if (problems.length > 0)
    throw new Failure([`${config} is wrong:`, ...problems].join('\n  - '), exits.config);
  return plan.flatMap(({ plugin, config: settings }) =>
    ((plugin.offers ?? []) as readonly Offer[])
      .filter(({ to }) => to.id === commandsOfPlugins.id)
      .map((offer) => {
        try {
          const command = offer.make({ config: settings }) as PluginCommand<Client>;
          const problem = commandsOfPlugins.named?.problem(command as never) ?? clash(command);
          if (problem !== undefined) throw new Error(problem);
          return commandOf(command, plugin.id);
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error);
          throw new Failure(`a command of plugin ${plugin.id} cannot be used: ${why}.`, exits.config);
        }
      }),
  );
}

async function planned(path: string) {
  try {
    const { config, problems, folder } = await readConfig({ ...process.env, MILLRACE_CONFIG: path });
    if (problems.length > 0) return { plan: [], problems };
    const loaded = await importPlugins(config.plugins, folder);
    const { plan, problems: more } = planOf(loaded.plugins);
    return { plan, problems: [...loaded.problems, ...more] };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { plan: [], problems: error.problems };
  }
}

function clash({ args }: Pick<PluginCommand, 'args'>): string | undefined {
  const own = Object.keys(args?.properties ?? {}).find((name) => name in shared || name === 'help');
  return own && `the command line has an option --${own} of its own; expected another name`;
}

function commandOf(command: PluginCommand<Client>, plugin: string): Command {
  const { name, summary, args, run } = command;
  const properties = Object.entries(args?.properties ?? {});
  const own = Object.fromEntries(properties.map(([key, schema]) => [key, optionOf(schema)]));
  return {
    name,
    usage: properties.map(([key, schema]) => usageOf(key, { schema, args })).join(' '),
    // As those of our own read: no full stop, a small letter.
    summary: `${summary[0]?.toLowerCase()}${summary.slice(1).replace(/\.$/, '')}`,
    details: `From plugin ${plugin}.`,
    options: { ...own, ...shared },
    async run(given) {
      const values = argsOf(given, args);
      const { client } = await connectionOf(given);
      const code = await untilInterrupted(
        async (signal) => (await run({ client, args: values, signal, write: print })) ?? exits.fine,
      );
      return code ?? exits.fine;
    },
  };
}

function optionOf(schema: TSchema): Option {
  const { type, items, description = '' } = schema as TSchema & { items?: TSchema };
  const isFlag = (items?.type ?? type) === 'boolean';
  return {
    ...(isFlag
      ? { type: 'boolean' as const }
      : { type: 'string' as const, value: placeholderOf(items ?? schema) }),
    ...(type === 'array' && { multiple: true as const }),
    summary: description,
  };
}

function placeholderOf({ type }: TSchema): string {
  return type === 'integer' || type === 'number' ? 'N' : 'TEXT';
}

function usageOf(name: string, { schema, args }: { schema: TSchema; args: TObject | undefined }): string {
  const { type, value, multiple } = optionOf(schema);
  const option = `--${name}${type === 'boolean' ? '' : ` ${value}`}`;
  const isNeeded = args?.required?.includes(name) && schema.default === undefined && type !== 'boolean';
  return `${isNeeded ? option : `[${option}]`}${multiple ? '…' : ''}`;
}

/** What was given, as the schema of the command wants it. Throws a `Failure` that names what is wrong. */
function argsOf({ options }: Given, args: TObject | undefined): Readonly<Record<string, unknown>> {
  if (!args) return {};
  const given = Object.entries(args.properties).flatMap(([name, schema]) => {
    const value = options[name];
    const absent = schema.type === 'boolean' ? [[name, false]] : [];
    return value === undefined ? absent : [[name, read(value, schema)]];
  });
  const { value, problems } = settingsOf(args, { given: Object.fromEntries(given), whole: 'arguments' });
  if (problems.length > 0)
    throw new Failure(`${problems.map((problem) => `--${problem}`).join('; ')}.`, exits.usage);
  return value as Readonly<Record<string, unknown>>;
}

function read(value: unknown, schema: TSchema): unknown {
  if (Array.isArray(value))
    return value.map((one) => read(one, (schema as { items?: TSchema }).items ?? schema));
  const isNumber = schema.type === 'integer' || schema.type === 'number';
  // What is no number stays as it was typed, so that the error can say what was expected.
  return isNumber && typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))
    ? Number(value)
    : value;
}
