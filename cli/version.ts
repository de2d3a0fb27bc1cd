import { contractVersion } from '../core/plugin/plugin.ts';
import packageJson from '../package.json' with { type: 'json' };
import { type Command, exits, print } from './command.ts';

export const version: Command = {
  name: 'version',
  usage: '[--json]',
  summary: 'says the versions of Millrace, its plugin contract, and Bun',
  options: { json: { type: 'boolean', summary: 'prints one JSON document' } },
  async run({ options: { json } }) {
    const facts = { millrace: packageJson.version, contract: contractVersion, bun: Bun.version };
    print(
      json
        ? JSON.stringify(facts)
        : `millrace ${facts.millrace} (plugin contract ${facts.contract}, Bun ${facts.bun})`,
    );
    return exits.fine;
  },
};
