import { Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { plainText } from '../../core/base/plain-text.ts';
import { definePlugin, type Kit } from '../../core/plugin/plugin.ts';
import { field } from '../../core/plugin/resource.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { profileProblems, type RenditionProfile, transcodeReasons } from '../../core/ports/transcoder.ts';
import { concerns } from '../health/contract.ts';
import { type PublishTerms, publishTerms, stream, streams } from '../streams/contract.ts';
import { type Profile, profileSchema, profilesField } from './contract.ts';
import { encodingMeter } from './meter.ts';
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
    isReloaded: true,
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
    const { observe } = kit.use(streams);
    const stops = [observe(renditionWatch(kit)), observe(encodingMeter(kit))];
    return () => {
      for (const stop of stops) stop();
    };
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

/** Metrics of transcoding. */
function measureRenditions(kit: Pick<Kit, 'metrics' | 'use'>): void {
  const { metrics } = kit;
  const transcoder = kit.use(services.transcoder);
  metrics.reading('millrace_renditions_broadcasts', {
    help: 'Broadcasts on this node whose renditions are being made, one ffmpeg process each.',
    read: () => transcoder.totals().ladders,
  });
  metrics.reading('millrace_renditions_pixels_per_second', {
    help: 'Planned pixels per second of all encoding on this node.',
    read: () => transcoder.totals().pixelRate,
  });
  metrics.reading('millrace_renditions_capacity_pixels_per_second', {
    help: 'Maximum of pixels per second that this node encodes (renditions.capacity).',
    read: () => transcoder.totals().capacity,
  });
  metrics.reading('millrace_renditions_pictures_total', {
    help: 'Pictures encoded in all renditions.',
    read: () => transcoder.totals().pictures,
  });
  metrics.reading('millrace_renditions_restarts_total', {
    help: 'ffmpeg processes restarted after a failure.',
    read: () => transcoder.totals().restarts,
  });
  metrics.readings('millrace_renditions_troubles_total', {
    help: 'Failures of renditions, by reason.',
    // All reasons from the start, as 0: a rate needs a first value.
    read: () => {
      const { troubles } = transcoder.totals();
      return transcodeReasons.map((reason) => ({ labels: { reason }, value: troubles[reason] ?? 0 }));
    },
  });
}
