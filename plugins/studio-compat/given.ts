import { type BodyReader, bodyReader, type TSchema, Type } from '../../sdk/plugin.ts';
import { unsupported } from './calls.ts';

/** Fields of bodies as Studio has them. Those of our routes are checked there. */
const fields = (names: readonly string[]): Record<string, TSchema> =>
  Object.fromEntries(names.map((name) => [name, Type.Optional(Type.Unknown())]));

const creatorId = Type.Optional(
  Type.Union([
    Type.String({ maxLength: 256 }),
    Type.Object({ type: Type.Literal('unverified'), value: Type.String({ maxLength: 256 }) }),
    Type.Null(),
  ]),
);
const playbackPolicy = Type.Optional(
  Type.Union([
    Type.Object({
      type: Type.Union(['public', 'jwt', 'webhook'].map((type) => Type.Literal(type))),
      allowedOrigins: Type.Optional(Type.Array(Type.String())),
      ...fields(['webhookId', 'webhookContext', 'refreshInterval']),
    }),
    Type.Null(),
  ]),
);
const common = { creatorId, playbackPolicy };
const recordingSpec = Type.Optional(Type.Union([Type.Object(fields(['profiles'])), Type.Null()]));
const spec = Type.Object({
  nftMetadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  ...fields(['nftMetadataTemplate']),
});
const ipfs = Type.Object({ spec: Type.Optional(Type.Union([spec, Type.Null()])) });
const storage = Type.Optional(
  Type.Object({ ipfs: Type.Optional(Type.Union([ipfs, Type.Boolean(), Type.Null()])) }),
);

// biome-ignore lint/suspicious/noExplicitAny: our routes check what is in them
type Given = Record<string, any>;

export const streamBody = bodyReader({
  ...common,
  recordingSpec,
  ...fields(['name', 'profiles', 'record', 'multistream', 'userTags', 'suspended', 'pull']),
});
export const assetBody: BodyReader<Given> = bodyReader({
  ...common,
  storage,
  ...fields(['name', 'url', 'staticMp4', 'encryption', 'c2pa', 'profiles', 'targetSegmentSizeSecs']),
});
export const transcodeBody = bodyReader({
  assetId: Type.String({ maxLength: 200 }),
  ...fields(['name', 'profile']),
});
export const exportBody = bodyReader(fields(['ipfs', 'custom']));
export const targetBody = bodyReader(fields(['name', 'url', 'disabled']));
export const addedTarget = bodyReader(fields(['profile', 'videoOnly', 'id', 'spec']));
export const webhookBody = bodyReader(
  fields(['name', 'url', 'events', 'streamId', 'sharedSecret', 'projectId']),
);
export const keyBody = bodyReader(fields(['name', 'disabled']));

/** A body of a stream for our own routes. */
export function streamGiven({ pull, recordingSpec, profiles, ...given }: Given): Given {
  if (pull)
    throw unsupported('pull: this server does not fetch broadcasts. Send them to the stream by RTMP.');
  if (recordingSpec?.profiles)
    throw unsupported('recordingSpec.profiles: recordings have the renditions of `profiles` of the stream.');
  return { ...commonGiven(given), ...(profiles && { profiles }) };
}

/** A body of an asset. `storage` is not in it. Without its URL it is that of an upload. */
export function assetGiven(given: Given): Given {
  const {
    staticMp4: _,
    targetSegmentSizeSecs: __,
    storage: ___,
    encryption,
    c2pa,
    profiles,
    ...rest
  } = given;
  if (encryption) throw unsupported('encryption: this server does not decrypt files.');
  if (c2pa) throw unsupported('c2pa: this server does not sign files.');
  if (profiles?.length > 0)
    throw unsupported(
      'profiles: an asset has its source alone. POST /api/asset/{id}/transcode makes others.',
    );
  return commonGiven(rest);
}

/** Whether the file shall be exported to IPFS. */
export function wantsIpfs({ storage }: Given): boolean {
  const ipfs = storage?.ipfs;
  return ipfs !== undefined && ipfs !== null && ipfs !== false;
}

function commonGiven({ creatorId, playbackPolicy, ...given }: Given): Given {
  return {
    ...given,
    ...(creatorId !== undefined && { creatorId: creatorId?.value ?? creatorId ?? '' }),
    ...(playbackPolicy !== undefined && { playbackPolicy: policyGiven(playbackPolicy) }),
  };
}

function policyGiven(policy: Given | null): Given | null {
  if (policy === null) return null;
  const { type, allowedOrigins = [] } = policy;
  if (type === 'webhook')
    throw unsupported(
      'playbackPolicy.type: webhooks of playback have another form here. Set it by PATCH /api/stream/{id} or /api/asset/{id} of this server.',
    );
  const isForAll = allowedOrigins.length === 0 || allowedOrigins.includes('*');
  return { type: type === 'jwt' ? 'signed' : type, ...(!isForAll && { allowedOrigins }) };
}
