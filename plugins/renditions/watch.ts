import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { LiveReading } from '../../core/ports/media.ts';
import type { LadderReading } from '../../core/ports/transcoder.ts';
import type { Concern } from '../health/contract.ts';
import type { LiveObserver } from '../streams/contract.ts';
import { beyondMost, issueAt, issueOf, wishes } from './issues.ts';

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
