import type { Command } from './command.ts';

/** Runs the server, as `npm start` does in a checkout. */
export const start: Command = {
  name: 'start',
  usage: '[--config FILE]',
  summary: 'runs the server until SIGTERM or Ctrl+C',
  details: 'Packages of plugins are looked for from the folder of the config file, or else from here.',
  options: {
    config: {
      ...{ type: 'string', value: 'FILE' },
      summary: 'config file (.json, .yaml, .ts). Default: the one that MILLRACE_CONFIG names',
    },
  },
  async run({ options: { config } }) {
    if (typeof config === 'string') process.env.MILLRACE_CONFIG = config;
    // It ends the process itself.
    await import('../runtime/main.ts');
    return undefined;
  },
};
