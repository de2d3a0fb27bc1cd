import { Type } from '@sinclair/typebox';
import { Fault } from '../../core/fault.ts';
import { definePlugin, type Kit } from '../../core/plugin.ts';
import { field } from '../../core/resource.ts';
import { stream } from '../streams/contract.ts';
import { type Profile, profileSchema, profilesField } from './contract.ts';
import { renditionLimits } from './limits.ts';

const most = renditionLimits.profiles.value;
const profilesSchema = Type.Array(profileSchema, {
  maxItems: most,
  description: 'Renditions wanted beside the source.',
});

const config = Type.Object({
  profiles: Type.Array(profileSchema, {
    maxItems: most,
    default: [],
    description: 'Profiles of a stream whose creator named none. Each as in the `profiles` field.',
  }),
});

/** Which renditions a stream wants. It owns the `profiles` field; nothing is transcoded yet. */
export default definePlugin({
  id: 'renditions',
  summary: 'the profiles field of streams',
  config,
  faults: {
    'renditions.invalid': { status: 400, meaning: 'Two profiles share a name, or one is called source.' },
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
      issues(profiles) {
        if (profiles.length === 0) return [];
        const names = profiles.map(({ name }) => name).join(', ');
        return [`This server makes no renditions: viewers get the source, not ${names}. Set profiles to [].`];
      },
    }),
  ],
  start(kit) {
    const message = problemsOf(kit.config.profiles).map((problem) => `plugins.renditions.${problem}`);
    if (message.length > 0) throw new Fault('config.invalid', { status: 500, message });
    return undefined;
  },
});

function problemsOf(profiles: readonly Profile[]): string[] {
  const seen = new Set<string>();
  return profiles.flatMap(({ name }, index) => {
    const isKnown = seen.has(name);
    seen.add(name);
    if (name === 'source') return [`profiles.${index}.name: "source" is the name of what the encoder sends`];
    return isKnown ? [`profiles.${index}.name: there are two profiles called "${name}"`] : [];
  });
}
