import { type Static, Type } from '@sinclair/typebox';
import { object, oneOf } from '../../core/base/schema.ts';
import { credentialsOf, type IpfsSettings } from './contract.ts';

/** `plugins.tasks.ipfs`, as an operator writes it. `ipfsContradictions` checks the keys against each other. */
export const ipfsSchema = object(
  {
    driver: oneOf(['local', 'kubo', 'pinning'], {
      default: 'local',
      expected: '"local", "kubo" or "pinning"',
      description:
        'Where exports to IPFS go. `local`: packed into a CAR file beside the other files, to be imported anywhere. `kubo`: to a Kubo node, by its RPC. `pinning`: to a pinning service. Exports with their own credentials always go to the pinning service.',
    }),
    endpoint: Type.Optional(
      Type.String({
        pattern: '^https?://[^/?#@\\s]{1,255}(/[^?#\\s]{0,1000})?$',
        expected: 'a URL without user, query or fragment, such as http://127.0.0.1:5001',
        description:
          'URL of the Kubo node or the pinning service; a private address must be in `outbound.allow`. Required with `kubo`. Default of `pinning`: `https://api.pinata.cloud`.',
      }),
    ),
    jwt: secret('Token of the pinning service: this, or apiKey and apiSecret.'),
    apiKey: secret('Key of the pinning service, with apiSecret.'),
    apiSecret: secret('Its secret.'),
    gateway: Type.Optional(
      Type.String({
        pattern: '^https?://[^/?#@\\s]{1,255}/?$',
        expected: 'a URL without a path, such as https://ipfs.io',
        description:
          'Gateway in the links of an export: `<gateway>/ipfs/<cid>`. Default: this server with `local`, otherwise `https://ipfs.io`.',
      }),
    ),
    cidProfile: oneOf(['unixfs-v1-2025', 'unixfs-v0-2015'], {
      default: 'unixfs-v1-2025',
      expected: '"unixfs-v1-2025" or "unixfs-v0-2015"',
      description:
        'How `local` and `kubo` cut a file into blocks, which decides its CID (IPIP-499). A pinning service decides by itself.',
    }),
  },
  { default: {} },
);

/** Keys that are valid alone but not together: `endpoint: is required …`. */
export function ipfsContradictions(given: Given): string[] {
  const { driver, endpoint } = given;
  if (driver !== 'pinning') {
    const astray = (['jwt', 'apiKey', 'apiSecret'] as const).filter((key) => given[key] !== undefined);
    return [
      ...(driver === 'kubo' && endpoint === undefined
        ? ['endpoint: is required where the driver is "kubo", such as http://127.0.0.1:5001']
        : []),
      ...(driver === 'local' && endpoint !== undefined
        ? ['endpoint: is for the drivers "kubo" and "pinning"; the driver is "local"']
        : []),
      ...astray.map((key) => `${key}: is for the driver "pinning"; the driver is "${driver}"`),
    ];
  }
  const { jwt, apiKey, apiSecret } = given;
  if (jwt !== undefined && (apiKey !== undefined || apiSecret !== undefined))
    return ['jwt: expected either jwt, or apiKey and apiSecret; both are set'];
  if (jwt !== undefined || (apiKey !== undefined && apiSecret !== undefined)) return [];
  if (apiKey !== undefined) return ['apiSecret: is required beside apiKey'];
  if (apiSecret !== undefined) return ['apiKey: is required beside apiSecret'];
  return ['jwt: is required where the driver is "pinning", or apiKey and apiSecret'];
}

/** The settings for plugins that export. Only for config without contradictions. */
export function ipfsSettingsOf(given: Given): IpfsSettings {
  const { driver, endpoint, cidProfile } = given;
  const { gateway } = given;
  const common = { ...(gateway !== undefined && { gateway: bare(gateway) }), cidProfile };
  switch (driver) {
    case 'local':
      return { ...common, driver, pinningEndpoint };
    case 'kubo':
      return { ...common, driver, pinningEndpoint, endpoint: bare(endpoint ?? '') };
    case 'pinning':
      return {
        ...common,
        driver,
        pinningEndpoint: bare(endpoint ?? pinningEndpoint),
        credentials: credentialsOf(given),
      };
  }
}

type Given = Static<typeof ipfsSchema>;

/** Takes the credentials that a caller brings, unless the deployment names another service of this kind. */
const pinningEndpoint = 'https://api.pinata.cloud';

function bare(url: string): string {
  return url.replace(/\/+$/, '');
}

/** Characters that a header can carry. `isSecret`: never printed. */
function secret(description: string) {
  return Type.Optional(
    Type.String({
      pattern: '^[!-~]{1,4096}$',
      expected: 'up to 4096 letters, digits or signs, without spaces',
      description,
      isSecret: true,
    }),
  );
}
