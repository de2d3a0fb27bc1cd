import { object, oneOf, optional, type Static, Type } from '../../sdk/plugin.ts';
import { invalid } from './api.ts';

/** Entries of one list of a body. */
export const maxEntries = 20;
const text = (maxLength = 255) => optional.string({ maxLength });

export const policySchema = oneOf(['public', 'signed', 'drm']);
export const passthroughSchema = text();
const policies = Type.Optional(Type.Array(policySchema, { maxItems: maxEntries }));
const metaSchema = Type.Optional(object({ title: text(512), creator_id: text(128), external_id: text(128) }));
const anything = Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), { maxProperties: 50 });
const list = Type.Optional(Type.Array(anything, { maxItems: maxEntries }));

/** What becomes of the playback ids of something new. */
export const playbackFields = {
  playback_policy: policies,
  playback_policies: policies,
  advanced_playback_policies: Type.Optional(
    Type.Array(object({ policy: Type.Optional(policySchema), drm_configuration_id: text() }), {
      maxItems: maxEntries,
    }),
  ),
};

/** Accepted, and without an effect here: docs/clients/mux.md. */
const ignored = {
  encoding_tier: oneOf(['smart', 'baseline', 'premium']),
  video_quality: oneOf(['basic', 'plus', 'premium']),
  max_resolution_tier: oneOf(['1080p', '1440p', '2160p']),
  mp4_support: text(40),
  normalize_audio: optional.boolean(),
  copy_overlays: optional.boolean(),
  generate_shots: optional.boolean(),
  static_renditions: list,
  directives: list,
};

/** `new_asset_settings`, and the body of a new asset without its input. */
export const assetFields = {
  ...playbackFields,
  ...Object.fromEntries(Object.entries(ignored).map(([name, schema]) => [name, Type.Optional(schema)])),
  passthrough: passthroughSchema,
  meta: metaSchema,
  test: optional.boolean(),
  master_access: Type.Optional(oneOf(['none', 'temporary'])),
};
export const metaField = metaSchema;
export const inputSchema = object({
  url: text(2048),
  ...{
    start_time: optional.number(),
    end_time: optional.number(),
    overlay_settings: Type.Optional(anything),
  },
  ...{ type: text(20), text_type: text(20), language_code: text(35), name: text(), passthrough: text() },
  closed_captions: optional.boolean(),
  generated_subtitles: list,
});
const inputs = Type.Optional(Type.Array(inputSchema, { maxItems: maxEntries }));
/** Inputs may stand in the settings of uploads too; there they have no effect. */
export const newAssetSettings = object({ ...assetFields, input: inputs, inputs });
export type NewAssetSettings = Static<typeof newAssetSettings>;
export const inputFields = {
  input: Type.Optional(
    Type.Union([Type.String({ maxLength: 2048 }), Type.Array(inputSchema, { maxItems: maxEntries })]),
  ),
  inputs,
};

export type Policy = 'public' | 'signed';

/** The policies of the playback ids that a body asks for. Fault `mux.invalid` for DRM. */
export function policiesIn(given: {
  readonly playback_policy?: readonly string[];
  readonly playback_policies?: readonly string[];
  readonly advanced_playback_policies?: readonly { readonly policy?: string }[];
}): Policy[] {
  const {
    playback_policy = [],
    playback_policies = playback_policy,
    advanced_playback_policies: advanced,
  } = given;
  return [...playback_policies, ...(advanced ?? []).map(({ policy = 'public' }) => policy)].map(policyOf);
}

/** Fault `mux.invalid` for DRM. */
export function policyOf(policy: string): Policy {
  if (policy !== 'public' && policy !== 'signed')
    throw invalid(`playback_policy: this server has no ${policy}; use public or signed`);
  return policy;
}
