import packageJson from '../package.json' with { type: 'json' };
import { MillraceError } from '../sdk/client/index.ts';
import { exits } from './command.ts';
import { clientOf, type Place } from './connection.ts';
import { failureOf } from './failure.ts';
import type { Finding } from './finding.ts';

/** More difference than this is no matter of the network, ms. A `Date` has whole seconds. */
const clockTolerance = 3000;

/** What a server says of itself. `isNamed`: the user says that there is one. */
export async function serverFindings(
  place: Place,
  { isNamed }: { isNamed: boolean },
): Promise<readonly Finding[]> {
  const { url, key } = place;
  const client = clientOf(place);
  const finding = (state: Finding['state'], says: string): Finding => ({ state, about: 'server', says });
  try {
    const response = await client.request({ method: 'GET', path: '/health/ready' });
    const { issues = [] } = (await response.json()) as { issues?: readonly string[] };
    const found = [finding('ok', `${url} is ready`), ...issues.map((issue) => finding('warn', issue))];
    found.push(...clockDifference(response), ...(await versionDifference(place)));
    if (key !== undefined) found.push(await keyFinding(place));
    return found;
  } catch (error) {
    const failure = failureOf(error);
    if (!failure) throw error;
    if (failure.exit !== exits.unreachable) return [finding('bad', `${url}: ${failure.message}`)];
    return [
      isNamed
        ? finding('bad', failure.message)
        : finding('ok', `none answers at ${url}. \`millrace start\` starts one.`),
    ];
  }
}

function clockDifference({ headers }: Response): readonly Finding[] {
  const difference = Date.parse(headers.get('date') ?? '') - Date.now();
  if (Number.isNaN(difference) || Math.abs(difference) <= clockTolerance) return [];
  const seconds = Math.round(Math.abs(difference) / 1000);
  const says = `the server's is ${seconds} s ${difference > 0 ? 'ahead of' : 'behind'} this machine's. Start an NTP service on both.`;
  return [{ state: 'warn', about: 'clock', says }];
}

async function versionDifference(place: Place): Promise<readonly Finding[]> {
  const response = await clientOf(place).request({ method: 'GET', path: '/openapi.json' });
  const { info } = (await response.json()) as { info?: { version?: string } };
  if (info?.version === packageJson.version) return [];
  const says = `the server is Millrace ${info?.version}, this is ${packageJson.version}. Install the same version.`;
  return [{ state: 'warn', about: 'version', says }];
}

async function keyFinding(place: Place): Promise<Finding> {
  try {
    await clientOf(place).request({ method: 'GET', path: '/api/api-token/current' });
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    if (error.status === 401)
      return {
        state: 'bad',
        about: 'key',
        says: 'the server does not accept the API key. Run `millrace login`.',
      };
    // Others are of a key that is known.
  }
  return { state: 'ok', about: 'key', says: 'the server accepts the API key' };
}
