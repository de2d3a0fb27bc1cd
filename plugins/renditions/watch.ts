import { plainText } from '../../core/base/plain-text.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { LiveReading } from '../../core/ports/media.ts';
import type { LadderReading, TranscodeReason } from '../../core/ports/transcoder.ts';
import type { Concern } from '../health/contract.ts';
import type { LiveObserver } from '../streams/contract.ts';

/** Reports what is wrong with the renditions of live broadcasts on this node. */
export function renditionWatch(kit: Pick<Kit, 'use'>): LiveObserver {
  const readingOf = readings(kit);
  const said = (reading: LiveReading, now: number, isWish: boolean) => {
    const found = readingOf(reading, now);
    if (!found?.trouble || wishes.has(found.trouble.reason) !== isWish) return [];
    return [issueAt(found, now) ?? ''];
  };
  const leftOut = (reading: LiveReading, now: number) => {
    const found = readingOf(reading, now);
    return beyondMost(reading.grant.profiles ?? [], found?.renditions);
  };
  return {
    look: (reading, now) => said(reading, now, false),
    remark: (reading, now) => [...leftOut(reading, now), ...said(reading, now, true)],
    seen() {},
  };
}

/** The part of it that makes a broadcast unhealthy. */
export function renditionConcern(kit: Pick<Kit, 'use'>): Concern {
  const readingOf = readings(kit);
  return (reading, now) => {
    const found = readingOf(reading, now);
    if (!found?.trouble || wishes.has(found.trouble.reason)) return [];
    return [issueOf(found) ?? ''];
  };
}

/** All readings are taken once per round, however many broadcasts it checks. */
function readings(kit: Pick<Kit, 'use'>) {
  const transcoder = kit.use(services.transcoder);
  let at = Number.NaN;
  let known = new Map<string, LadderReading>();
  return ({ grant }: LiveReading, now: number): LadderReading | undefined => {
    if (grant.profiles === undefined) return undefined;
    if (now !== at) {
      at = now;
      known = new Map(transcoder.readings().map((one) => [one.playbackId, one]));
    }
    return known.get(grant.playbackId);
  };
}

/** What is wrong with the renditions of a broadcast. The text stays the same while the trouble does. */
function issueOf({ renditions, trouble }: LadderReading): string | undefined {
  if (!trouble) return undefined;
  const names = renditions.map(({ name }) => plainText(name)).join(', ');
  if (renditions.length > 0 && renditions.every(({ isListed }) => isListed))
    return `Renditions (${names}) were missing for a while and are back: ${lowered(trouble.message)}`;
  return `Viewers get the source alone, not ${names}: ${lowered(trouble.message)} ${advice[trouble.reason]}`;
}

/** Profiles beyond the most renditions of one broadcast. `made`: undefined while it is not known. */
function beyondMost(
  wanted: readonly { readonly name: string }[],
  made: LadderReading['renditions'] | undefined,
): string[] {
  if (made === undefined || made.length >= wanted.length) return [];
  const known = new Set(made.map(({ name }) => name));
  const names = wanted.map(({ name }) => name).filter((name) => !known.has(name));
  return [
    `A broadcast has at most ${made.length} renditions: the first of profiles are made, ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not.`,
  ];
}

/** The same with the time until the next attempt. `now`: epoch ms. */
function issueAt(reading: LadderReading, now: number): string | undefined {
  const issue = issueOf(reading);
  if (issue === undefined || reading.state !== 'waiting' || reading.retryAt === undefined) return issue;
  const wait = Math.max(0, Math.ceil((reading.retryAt - now) / 1000));
  return `${issue} The next attempt is ${wait === 0 ? 'due now' : `in ${wait} s`}.`;
}

/** The broadcast itself is fine, more was asked for than there is: reported, but not unhealthy. */
const wishes: ReadonlySet<TranscodeReason> = new Set(['capacity', 'processes', 'source']);

const advice: Readonly<Record<TranscodeReason, string>> = {
  missing:
    'Install ffmpeg: it is found within a minute without any configuration. If ffmpeg.path is set, it must name the program.',
  encoder:
    'Set renditions.encoder to one that `ffmpeg -encoders` lists and the machine has, such as libx264.',
  capacity: 'Use fewer or smaller profiles, or raise renditions.capacity where the machine can do more.',
  processes: 'Raise ffmpeg.processes where the machine can do more.',
  source: 'Send H.264 with a smaller picture or fewer pictures a second, or set profiles to [].',
  broken: 'It is restarted automatically; see the log of the server.',
  slow: 'Use fewer or smaller profiles or a faster renditions.preset, and lower renditions.capacity.',
  stalled: 'It is restarted automatically; check whether the machine is overloaded.',
  memory: 'Raise hls.memory, or use fewer profiles.',
};

/** For the middle of a sentence; names keep their case. */
function lowered(message: string): string {
  return /^(This|They|There|What|Its?|A)\b/.test(message)
    ? `${message[0].toLowerCase()}${message.slice(1)}`
    : message;
}
