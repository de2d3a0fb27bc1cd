import { Fault } from '../core/base/fault.ts';
import { type ReadDeployment, readDeployment } from '../runtime/boot/open-deployment.ts';
import { type Command, exits, Failure, type Option, print } from './command.ts';
import { table } from './table.ts';

const configOption = {
  type: 'string',
  value: 'FILE',
  summary: 'config file (.json, .yaml, .ts). Default: the one that MILLRACE_CONFIG names',
} as const satisfies Option;

/** Says whether the server would start with this config. */
export const configCheck: Command = {
  name: 'config check',
  usage: '[--config FILE]',
  summary: 'checks the config file, the environment and the configs of plugins',
  details: 'Connects to nothing. Exits with 78 and every problem when the server would refuse to start.',
  options: { config: configOption },
  async run({ options }) {
    const facts = (await read(options.config)).facts();
    const set = facts.filter(({ source }) => source !== 'default');
    print(`The config is fine: ${set.length} of ${facts.length} keys are set.`);
    return exits.fine;
  },
};

/** Shows each key with its value and where that is from. Secrets are hidden. */
export const configPrint: Command = {
  name: 'config print',
  usage: '[--config FILE] [--set] [--json]',
  summary: 'shows every key of the config with its value, and where that is from',
  details: 'Secrets are hidden.',
  options: {
    config: configOption,
    set: { type: 'boolean', summary: 'only keys that the file or the environment sets' },
    json: { type: 'boolean', summary: 'prints one JSON document' },
  },
  async run({ options }) {
    const all = (await read(options.config)).facts();
    const facts = options.set === true ? all.filter(({ source }) => source !== 'default') : all;
    if (options.json === true) print(JSON.stringify(facts));
    else
      print(
        table(
          ['KEY', 'FROM', 'VALUE'],
          facts.map(({ key, value, source }) => [key, source, JSON.stringify(value) ?? '']),
        ),
      );
    return exits.fine;
  },
};

async function read(config: unknown): Promise<ReadDeployment> {
  const file = typeof config === 'string' ? { MILLRACE_CONFIG: config } : {};
  try {
    return await readDeployment({ ...process.env, ...file });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Failure(['The server would not start:', ...error.problems].join('\n  - '), exits.config);
  }
}
