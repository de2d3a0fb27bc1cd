import { millrace } from '../sdk/client/index.ts';
import { type Command, complain, exits, Failure, type Given, type Options, print, text } from './command.ts';
import { connectionOf, sendTo, serverOptions, serverUrl } from './connection.ts';
import { untilInterrupted } from './interruption.ts';
import { readHere } from './migration/here.ts';
import { livepeer } from './migration/livepeer.ts';
import { moveAll } from './migration/move.ts';
import { mux } from './migration/mux.ts';
import { type Platform, pacedFetch } from './migration/paced-fetch.ts';
import { reportOf, textOfReport } from './migration/report.ts';
import type { Origin } from './migration/source.ts';
import { plain } from './table.ts';

const mostParallel = 16;
const defaultParallel = 4;
/** Mux makes the master file of a long film in some minutes. */
const masterTime = 30 * 60_000;

const options = {
  'dry-run': { type: 'boolean', summary: 'says what would be moved, and changes nothing' },
  parallel: {
    ...{ type: 'string', value: 'N' },
    summary: `things that are moved at one time, at most ${mostParallel}. Default: ${defaultParallel}`,
  },
} as const satisfies Options;

const details =
  'Give the same command again after an interruption: it continues, and moves nothing twice. Everything keeps its old ids as aliases\n' +
  'that play. The report says what cannot be moved, and why. Exit code 1: something failed that another run may move.';

export const migrateMux: Command = {
  name: 'migrate mux',
  usage: '[--dry-run] [--parallel N] [--from URL] [--stream-url URL]',
  summary: 'moves assets, live streams and webhooks from Mux to the server',
  details: `Needs MUX_TOKEN_ID and MUX_TOKEN_SECRET in the environment. ${details}`,
  options: {
    ...options,
    from: { type: 'string', value: 'URL', summary: 'the API of Mux. Default: https://api.mux.com' },
    'stream-url': {
      ...{ type: 'string', value: 'URL' },
      summary: 'where Mux plays films. Default: https://stream.mux.com',
    },
    ...serverOptions,
  },
  run: (given) =>
    migrate(given, ({ signal, send }) => {
      const base = urlOf(given, { option: 'from', otherwise: 'https://api.mux.com' });
      const streamUrl = urlOf(given, { option: 'stream-url', otherwise: 'https://stream.mux.com' });
      const [id, secret] = [credential('MUX_TOKEN_ID'), credential('MUX_TOKEN_SECRET')];
      const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
      const platform = { name: 'Mux', base, authorization, send };
      return mux({ platform, streamUrl, masterTime, signal });
    }),
};

export const migrateLivepeer: Command = {
  name: 'migrate livepeer',
  usage: '[--dry-run] [--parallel N] [--from URL]',
  summary: 'moves assets, streams and webhooks from Livepeer Studio to the server',
  details: `Needs LIVEPEER_API_KEY in the environment. ${details}`,
  options: {
    ...options,
    from: {
      ...{ type: 'string', value: 'URL' },
      summary: 'the API of Livepeer Studio. Default: https://livepeer.studio/api',
    },
    ...serverOptions,
  },
  run: (given) =>
    migrate(given, ({ send }) => {
      const base = urlOf(given, { option: 'from', otherwise: 'https://livepeer.studio/api' });
      const authorization = `Bearer ${credential('LIVEPEER_API_KEY')}`;
      return livepeer({ platform: { name: 'Livepeer', base, authorization, send } });
    }),
};

type OpenOrigin = (with_: Pick<Platform, 'send'> & { signal: AbortSignal }) => Origin;

async function migrate(given: Given, open: OpenOrigin): Promise<number> {
  const parallel = parallelOf(given);
  const isDry = given.options['dry-run'] === true;
  const { url, key, isJson } = await connectionOf(given);
  const report = await untilInterrupted(async (signal) => {
    const origin = open({ signal, send: pacedFetch(fetch, { signal, onWait: waits('the other platform') }) });
    const client = millrace({
      ...{ baseUrl: url, key },
      fetch: pacedFetch(sendTo(url), { signal, onWait: waits('the server') }),
    });
    const here = await readHere(client);
    let count = 0;
    const items = await moveAll({
      ...{ origin, client, here, isDry, parallel, signal },
      onItem({ kind, name, outcome, reason }) {
        count += 1;
        complain(plain(`${count}  ${outcome}  ${kind} ${name}${reason === undefined ? '' : `: ${reason}`}`));
      },
    });
    return reportOf(items, { from: origin.id, dryRun: isDry });
  });
  if (!report) throw new Failure('interrupted. Give the same command again to continue.');
  print(isJson ? JSON.stringify(report) : textOfReport(report));
  return report.items.some(({ outcome }) => outcome === 'failed') ? exits.failed : exits.fine;
}

function waits(who: string): (seconds: number) => void {
  return (seconds) => complain(`${who} asks for patience: ${Math.ceil(seconds)} s`);
}

function urlOf(given: Given, { option, otherwise }: { option: string; otherwise: string }): string {
  const url = serverUrl(text(given.options[option]) ?? otherwise);
  if (url === undefined) throw new Failure(`--${option}: expected a URL such as ${otherwise}.`, exits.usage);
  return url;
}

/** From the environment: other users of the machine see what is given as an option. */
function credential(name: string): string {
  const value = process.env[name];
  if (value && /^[!-~]+$/.test(value)) return value;
  throw new Failure(`set ${name} in the environment.`, exits.notAllowed);
}

function parallelOf({ options: { parallel } }: Given): number {
  const asked = text(parallel);
  if (asked === undefined) return defaultParallel;
  const count = /^\d{1,3}$/.test(asked) ? Number(asked) : 0;
  if (count < 1 || count > mostParallel)
    throw new Failure(`--parallel: expected a number from 1 to ${mostParallel}.`, exits.usage);
  return count;
}
