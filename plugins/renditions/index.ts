import { Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { plainText } from '../../core/base/plain-text.ts';
import { definePlugin, type Kit } from '../../core/plugin/plugin.ts';
import { field } from '../../core/plugin/resource.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { profileProblems, type RenditionProfile } from '../../core/ports/transcoder.ts';
import { concerns } from '../health/contract.ts';
import { type PublishTerms, publishTerms, stream, streams } from '../streams/contract.ts';
import { type Profile, profileSchema, profilesField } from './contract.ts';
import { measureRenditions } from './measure.ts';
import { renditionConcern, renditionWatch } from './watch.ts';

/** Profiles of one stream, or of the config. */
const maxProfiles = 50;
const profilesSchema = Type.Array(profileSchema, {
  maxItems: maxProfiles,
  description: 'Renditions beside the source.',
});

const config = Type.Object({
  profiles: Type.Array(profileSchema, {
    maxItems: maxProfiles,
    default: [],
    description: 'Default `profiles` of streams created without any.',
  }),
});

/** Owns the field `profiles` of streams: the renditions that media makes of a broadcast, and what is wrong with them. */
export default definePlugin({
  id: 'renditions',
  summary: 'makes renditions of broadcasts',
  config,
  needs: [streams, services.transcoder],
  faults: {
    'renditions.invalid': {
      status: 400,
      meaning: 'Two profiles share a name, one is called source, or one has less than a picture in 10 s.',
    },
  },
  extends: [
    field<Profile[], Kit<typeof config>>(stream, profilesField, {
      schema: profilesSchema,
      faults: ['renditions.invalid'],
      initial: (kit) => kit.config.profiles,
      validate(profiles) {
        const message = problemsOf(profiles);
        if (message.length > 0) throw new Fault('renditions.invalid', { status: 400, message });
      },
    }),
  ],
  offers: [
    offer(
      publishTerms,
      (): PublishTerms =>
        ({ fields }) => {
          const profiles = (fields[profilesField] ?? []) as readonly Profile[];
          return profiles.length > 0 ? { profiles: profiles as readonly RenditionProfile[] } : {};
        },
    ),
    offer(concerns, renditionConcern),
  ],
  start(kit) {
    const message = problemsOf(kit.config.profiles).map((problem) => `plugins.renditions.${problem}`);
    if (message.length > 0) throw new Fault('config.invalid', { status: 500, message });
    if (!kit.deployment.nodes.own.roles.includes('media')) return undefined;
    measureRenditions(kit);
    return kit.use(streams).observe(renditionWatch(kit));
  },
});

function problemsOf(profiles: readonly Profile[]): string[] {
  const seen = new Set<string>();
  return profiles.flatMap((profile, index) => {
    const { name } = profile;
    const own = profileProblems(profile).map((problem) => `profiles.${index}.${problem}`);
    const isKnown = seen.has(name);
    seen.add(name);
    if (name === 'source') own.push(`profiles.${index}.name: "source" is the name of what the encoder sends`);
    if (isKnown) own.push(`profiles.${index}.name: there are two profiles called "${plainText(name)}"`);
    return own;
  });
}
