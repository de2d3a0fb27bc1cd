import type { Command } from './command.ts';

/** Shows a first picture, as `npm run demo` does in a checkout. */
export const demo: Command = {
  name: 'demo',
  usage: '[--config FILE]',
  summary: 'broadcasts a test clip to the server of this machine, or to one that it starts, until Ctrl+C',
  options: {
    config: {
      ...{ type: 'string', value: 'FILE' },
      summary: 'config file of the server. Default: the one that MILLRACE_CONFIG names',
    },
  },
  async run({ options: { config } }) {
    if (typeof config === 'string') process.env.MILLRACE_CONFIG = config;
    // It ends the process itself.
    await import('../demo/main.ts');
    return undefined;
  },
};
