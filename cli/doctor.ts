import { readConfig } from '../config/load.ts';
import { importPlugins } from '../config/plugins.ts';
import type { Config } from '../config/schema.ts';
import { Fault } from '../core/base/fault.ts';
import { planOf } from '../runtime/boot/plan.ts';
import { type Command, exits, type Given, print, text } from './command.ts';
import { placeOf, serverOptions } from './connection.ts';
import { clockFinding, diskFindings, ffmpegFindings, versionFinding } from './doctor-machine.ts';
import { engineFindings, isLive, localUrl, portFindings } from './doctor-network.ts';
import { serverFindings } from './doctor-server.ts';
import type { Finding } from './finding.ts';

export const doctor: Command = {
  name: 'doctor',
  usage: '[--config FILE]',
  summary: 'checks versions, config, ports, disk, ffmpeg, engines, clock and server of this machine',
  details:
    'Each line is ok, warn or bad, and says what to do. Works without a server; looks at the server too where one answers.\n' +
    'Exit code 0: nothing is bad. 1: something is. 78: the config is wrong.',
  options: {
    config: {
      ...{ type: 'string', value: 'FILE' },
      summary: 'config file to check. Default: the one that MILLRACE_CONFIG names, or else the defaults',
    },
    ...serverOptions,
  },
  async run(given) {
    const { config, findings } = await configFindings(given);
    const all = [versionFinding(), ...findings];
    const place = await placeOf(given);
    if (config) all.push(...(await machineFindings(config)));
    all.push(...(await serverFindings(place, { isNamed: isNamed(given) })));
    if (given.options.json) print(JSON.stringify(all));
    else for (const { state, about, says } of all) print(`${state.padEnd(4)}  ${about.padEnd(8)}  ${says}`);
    if (!config) return exits.config;
    return all.some(({ state }) => state === 'bad') ? exits.failed : exits.fine;
  },
};

async function machineFindings(config: Config): Promise<readonly Finding[]> {
  const isRunning = await isLive(localUrl(config));
  const found = await Promise.all([
    portFindings(config, { isRunning }),
    diskFindings(config),
    ffmpegFindings(config),
    engineFindings(config),
    clockFinding(config),
  ]);
  return found.flat();
}

/** Whether the user says that there is a server. */
function isNamed({ options }: Given): boolean {
  return options.server !== undefined || process.env.MILLRACE_URL !== undefined;
}

/** `config` only where it is right. */
async function configFindings({
  options,
}: Given): Promise<{ config?: Config; findings: readonly Finding[] }> {
  const path = text(options.config) ?? process.env.MILLRACE_CONFIG;
  const bad = (problems: readonly string[]) =>
    problems.map((says): Finding => ({ state: 'bad', about: 'config', says }));
  try {
    const { config, problems, folder } = await readConfig({ ...process.env, MILLRACE_CONFIG: path });
    if (problems.length > 0) return { findings: bad(problems) };
    const loaded = await importPlugins(config.plugins as Readonly<Record<string, unknown>>, folder);
    const all = [...loaded.problems, ...planOf(loaded.plugins).problems];
    if (all.length > 0) return { findings: bad(all) };
    const says = `${path ?? 'defaults'}, ${loaded.plugins.length} plugins`;
    return { config, findings: [{ state: 'ok', about: 'config', says }] };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { findings: bad(error.problems) };
  }
}
