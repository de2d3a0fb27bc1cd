import { parseArgs } from 'node:util';
import { didYouMean } from '../core/base/near-miss.ts';
import { type Command, complain, exits, Failure, type Given, print } from './command.ts';
import { completion } from './completion.ts';
import { configCheck, configPrint } from './config.ts';
import { demo } from './demo.ts';
import { doctor } from './doctor.ts';
import { events } from './events.ts';
import { exportCommand } from './export.ts';
import { failureOf } from './failure.ts';
import { importCommand } from './import.ts';
import { login } from './login.ts';
import { migrateLivepeer, migrateMux } from './migrate.ts';
import { pluginCheck } from './plugin-check.ts';
import { configIn, pluginCommands } from './plugin-commands.ts';
import { pluginNew } from './plugin-new.ts';
import { pluginTest } from './plugin-test.ts';
import { push } from './push.ts';
import { start } from './start.ts';
import { streamCreate, streamKey, streamList, streamShow } from './stream.ts';
import { streamWatch } from './stream-watch.ts';
import { taskFollow, taskList, taskShow } from './task.ts';
import { upload } from './upload.ts';
import { version } from './version.ts';
import { webhookListen } from './webhook-listen.ts';

/** In the order of the help: the server, its use, its making. */
export const commands: readonly Command[] = [
  ...[start, demo, doctor, configCheck, configPrint, login],
  ...[streamList, streamCreate, streamShow, streamWatch, streamKey, push],
  ...[upload, importCommand, exportCommand, taskList, taskShow, taskFollow],
  ...[events, webhookListen, migrateMux, migrateLivepeer],
  ...[pluginNew, pluginTest, pluginCheck],
  ...[completion(() => commands), version],
];

/**
 * `millrace <command>`: finds the command and runs it with its arguments. Resolves with the exit code; undefined: the process goes on,
 * and ends itself.
 */
export async function millrace(words: readonly string[]): Promise<number | undefined> {
  if (words.length === 0) return refuse(overview(commands));
  if (words[0] === '--version') return run(version, []);
  if (words[0] === 'help' || words[0] === '--help' || words[0] === '-h') return help(words.slice(1));
  const found = await find(words);
  if (typeof found === 'number') return found;
  const rest = words.slice(found.name.split(' ').length);
  return rest.includes('--help') || rest.includes('-h') ? explain(found) : run(found, rest);
}

/** One of ours, or else of a plugin. The exit code where there is none, when the reason has been told. */
async function find(words: readonly string[]): Promise<Command | number> {
  const ours = named(words, commands);
  if (ours) return ours;
  const { offered, problem } = await ofPlugins(configIn(words));
  const theirs = named(words, offered);
  if (theirs) return theirs;
  const code = refuse(`millrace: ${unknown(words, [...commands, ...offered])}`);
  if (!problem) return code;
  complain(problem.message);
  return problem.exit;
}

function named(words: readonly string[], among: readonly Command[]): Command | undefined {
  return among.find(({ name }) => name === words.slice(0, name.split(' ').length).join(' '));
}

/** Commands of the plugins that a config enables. */
async function ofPlugins(
  config: string | undefined,
): Promise<{ offered: readonly Command[]; problem?: Failure }> {
  try {
    return { offered: config ? await pluginCommands(config) : [] };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { offered: [], problem: error };
  }
}

async function run(command: Command, words: readonly string[]): Promise<number | undefined> {
  const given = read(command, words);
  if (typeof given === 'string') return refuse(`millrace ${command.name}: ${given}\n\n${usageOf(command)}`);
  try {
    return await command.run(given);
  } catch (error) {
    const failure = failureOf(error);
    if (!failure) throw error;
    complain(`millrace ${command.name}: ${failure.message}`);
    return failure.exit;
  }
}

/** The arguments, or what is wrong with them. */
function read(command: Command, words: readonly string[]): Given | string {
  const { least, most } = command.arguments ?? { least: 0, most: 0 };
  try {
    const { values, positionals } = parseArgs({
      ...{ args: [...words], options: command.options ?? {}, allowPositionals: true },
    });
    const count = positionals.length;
    if (count < least) return 'an argument is missing.';
    // As of a variable of the shell that is not set.
    if (positionals.includes('')) return 'an argument is empty.';
    if (count > most) return `there is an argument too many: ${positionals[most]}`;
    return { arguments: positionals, options: values as Given['options'] };
  } catch (error) {
    return (error as Error).message.split('. ')[0] ?? '';
  }
}

async function help(words: readonly string[]): Promise<number> {
  const isOfOne = words.length > 0 && !words[0]?.startsWith('-');
  if (isOfOne) {
    const found = await find(words);
    return typeof found === 'number' ? found : explain(found);
  }
  const { offered, problem } = await ofPlugins(configIn(words));
  print(overview([...commands, ...offered]));
  if (problem) complain(problem.message);
  return exits.fine;
}

function explain(command: Command): number {
  print(
    [usageOf(command), sentence(command), command.details, optionsOf(command)].filter(Boolean).join('\n\n'),
  );
  return exits.fine;
}

function overview(listed: readonly Command[]): string {
  const width = Math.max(...listed.map(({ name }) => name.length));
  const lines = listed.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return ['Usage: millrace <command>', '', ...lines, '', 'More: millrace help <command>'].join('\n');
}

function sentence({ summary }: Command): string {
  return `${summary[0]?.toUpperCase()}${summary.slice(1)}.`;
}

function optionsOf({ options = {} }: Command): string {
  const rows = Object.entries(options).map(
    ([name, { value, summary }]) => [`--${name}${value ? ` ${value}` : ''}`, summary] as const,
  );
  const width = Math.max(...rows.map(([option]) => option.length));
  return rows.map(([option, summary]) => `  ${option.padEnd(width)}  ${summary}`).join('\n');
}

function usageOf({ name, usage }: Command): string {
  return `Usage: millrace ${name} ${usage}`.trim();
}

function unknown(words: readonly string[], known: readonly Command[]): string {
  const names = known.map(({ name }) => name);
  const group = names.filter((name) => name.startsWith(`${words[0]} `));
  if (group.length > 0 && words.length === 1) return `${words[0]} is one of: ${group.join(', ')}.`;
  const typed = group.length > 0 ? words.slice(0, 2).join(' ') : (words[0] ?? '');
  const near = didYouMean(typed, [...names, 'help']) || didYouMean(typed, ['plugin']);
  return `there is no command ${typed}${near || `; there are ${names.join(', ')}`}`;
}

function refuse(text: string): number {
  complain(text);
  return exits.usage;
}
