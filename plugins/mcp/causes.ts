import { durationWords, type Entry, type Facts, type Point } from './facts.ts';

/** Something that is or was wrong, and what to do. Higher weights first. */
export interface Cause {
  readonly weight: number;
  readonly text: string;
}

/** s: key frames further apart make players start late, and renditions cut badly. */
const longInterval = 4.05;
/** How far a bitrate goes up and down in a session before it counts as swinging: the 90th to the 10th percentile. */
const swing = 3;
/** Points of 5 s before rates are judged. */
const enough = 6;

/** What went wrong in a session, from what the API knows of it. */
export function causesOf(facts: Facts): Cause[] {
  const causes = [
    ...keyFrames(facts),
    ...bitrate(facts),
    ...losses(facts),
    ...issues(facts),
    ...refusals(facts),
    ...pushes(facts.timeline),
    ...deliveries(facts.timeline),
    ...others(facts.timeline),
  ];
  return causes.sort((a, b) => b.weight - a.weight);
}

function keyFrames({ points }: Facts): Cause[] {
  const intervals = points.map(({ keyFrameInterval }) => keyFrameInterval);
  const longest = Math.max(0, ...intervals);
  if (longest <= longInterval) return [];
  const text =
    `The key-frame interval is too long: up to ${oneDigit(longest)} s between two key frames. Players start late or wait, and a quality cannot be changed in between. ` +
    'Set it to 2 s in the encoder (OBS: Keyframe Interval 2 s; ffmpeg at 30 frames a second: -g 60).';
  return [{ weight: 90, text }];
}

function bitrate({ points }: Facts): Cause[] {
  const rates = sending(points)
    .map(({ ingestRate }) => ingestRate)
    // The first and the last 5 s are seldom whole.
    .slice(1, -1);
  if (rates.length < enough) return [];
  const sorted = [...rates].sort((a, b) => a - b);
  const low = sorted[Math.floor(sorted.length * 0.1)] ?? 0;
  const high = sorted[Math.floor(sorted.length * 0.9)] ?? 0;
  if (high < low * swing) return [];
  const text = `The bitrate swings between ${rateWords(low)} and ${rateWords(high)}. The upload of the encoder is probably too slow or shared: use a constant bitrate below it, and a wired network.`;
  return [{ weight: 50, text }];
}

/** The encoder was gone, and when. */
function losses({ points, timeline }: Facts): Cause[] {
  const ends = timeline.filter(({ kind, state }) => kind === 'state' && state === 'idle');
  const returns = timeline.filter(({ kind, state }) => kind === 'state' && state === 'live').length - 1;
  const spans = spansOf(points).filter(({ text }) => text.startsWith(lost));
  const seen = timeline.filter(({ issues = [] }) => issues.some((one) => one.startsWith(lost)));
  const moments = spans.length > 0 ? spans.map(({ from }) => from) : seen.map(({ at }) => at);
  const causes: Cause[] = [];
  if (moments.length > 0) {
    const text = `The connection of the encoder was lost ${times(moments.length)} (${list(moments)}). Nobody could watch more than what was there. Check the network of the encoder, and let it reconnect by itself.`;
    causes.push({ weight: 85, text });
  }
  if (returns > 0) {
    const text = `The broadcast went off the air and came back ${times(returns)} (off at ${list(ends.map(({ at }) => at))}).`;
    causes.push({ weight: 70, text });
  }
  return causes;
}

const lost = 'The connection of the encoder was lost';
/** Issues that have a cause of their own here. */
const told = [lost, 'Key frames are more than', 'The bitrate fell'];
const severe = ['No media arrives', 'The video has no key frame', 'The picture is'];

/** Every other issue in the words of the API, with how long it lasted. */
function issues({ points, timeline, stream, session }: Facts): Cause[] {
  const lasted = new Map<string, { from: number; ms: number }>();
  for (const { text, from, to } of spansOf(points)) {
    const known = lasted.get(text);
    lasted.set(text, { from: known?.from ?? from, ms: (known?.ms ?? 0) + to - from });
  }
  for (const { at, issues: shown = [] } of timeline)
    for (const text of shown) if (!lasted.has(text)) lasted.set(text, { from: at, ms: 0 });
  if (session?.isActive)
    for (const text of stream.issues ?? []) if (!lasted.has(text)) lasted.set(text, { from: 0, ms: 0 });
  const knowsKeyFrames = points.some(({ keyFrameInterval }) => keyFrameInterval > longInterval);
  return [...lasted]
    .filter(([text]) => !told.some((one) => text.startsWith(one) && (one !== told[1] || knowsKeyFrames)))
    .map(([text, { from, ms }]) => ({
      weight: severe.some((one) => text.startsWith(one)) ? 80 : 60,
      text: `${text}${from === 0 ? '' : ` (from ${clock(from)}${ms > 0 ? `, ${durationWords(ms)} in all` : ''})`}`,
    }));
}

function refusals({ refused, session }: Facts): Cause[] {
  return grouped(refused, ({ reason, message }) => `${reason} ${message}`).map((group) => {
    const [first] = group;
    const isInUse = first.reason === 'busy';
    const begin = isInUse
      ? `Two encoders use this stream key: one of them was turned away ${times(group.length)}`
      : `${group.length === 1 ? 'A publish was' : `${group.length} publishes were`} refused`;
    const encoder = first.encoder === undefined ? '' : `, from ${first.encoder}`;
    const why = isInUse ? 'Stop one of them, or rotate the key. ' : '';
    return {
      weight: isInUse || !session ? 88 : 40,
      text: `${begin} (${list(group.map(({ at }) => at))}${encoder}). ${why}The encoder was told: ${first.message}`,
    };
  });
}

function pushes(timeline: readonly Entry[]): Cause[] {
  const failed = timeline.filter(({ event }) => event === 'multistream.error');
  return grouped(failed, ({ payload }) => payload?.target?.id ?? '').map((group) => {
    const last = group.at(-1) as Entry;
    const error = last.payload?.error ?? last.payload?.reason ?? 'no reason was given';
    const name = last.payload?.target?.name ?? 'a target';
    return {
      weight: 45,
      text: `The push to the target "${name}" failed ${times(group.length)} (${list(group.map(({ at }) => at))}): ${error}`,
    };
  });
}

function deliveries(timeline: readonly Entry[]): Cause[] {
  const all = timeline.filter(({ kind }) => kind === 'delivery');
  const failed = all.filter(({ success }) => success === false);
  return grouped(failed, ({ webhookId = '' }) => webhookId).map((group) => {
    const last = group.at(-1) as Entry;
    const isFine = all.some(
      ({ webhookId, success, at }) => webhookId === last.webhookId && success && at > last.at,
    );
    const why = last.error ?? `it answered ${last.status}`;
    const after = isFine ? 'Later deliveries arrived.' : 'None arrived since.';
    return {
      weight: isFine ? 20 : 42,
      text: `${times(group.length, 'Once', 'times')} a delivery to the webhook ${last.webhookId} failed; the last time ${why}. ${after}`,
    };
  });
}

function others(timeline: readonly Entry[]): Cause[] {
  return timeline
    .filter(({ event = '' }) => event.endsWith('.failed'))
    .map(({ at, event, payload }) => ({
      weight: 44,
      text: `${event} at ${clock(at)}: ${payload?.task?.status?.errorMessage ?? payload?.asset?.statusMessage ?? payload?.error ?? 'the object says why'}`,
    }));
}

/** Points while media arrived. */
function sending(points: readonly Point[]): readonly Point[] {
  return points.filter(
    ({ ingestRate, issues: shown }) => ingestRate > 0 && !shown.some((one) => one.startsWith(lost)),
  );
}

/** ms of a point. */
const step = 5000;

/** Each issue from when to when it was shown, times in epoch ms. */
export function spansOf(points: readonly Point[]): { text: string; from: number; to: number }[] {
  const spans: { text: string; from: number; to: number }[] = [];
  const open = new Map<string, { text: string; from: number; to: number }>();
  for (const { time, issues: shown } of points) {
    for (const text of shown) {
      const current = open.get(text);
      if (current) current.to = time + step;
      else {
        const begun = { text, from: time, to: time + step };
        open.set(text, begun);
        spans.push(begun);
      }
    }
    for (const text of open.keys()) if (!shown.includes(text)) open.delete(text);
  }
  return spans;
}

function grouped<T>(entries: readonly T[], key: (entry: T) => string): [T, ...T[]][] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const entry of entries) {
    const group = groups.get(key(entry));
    if (group) group.push(entry);
    else groups.set(key(entry), [entry]);
  }
  return [...groups.values()];
}

/** `10:03:07` */
export function clock(at: number): string {
  return new Date(at).toISOString().slice(11, 19);
}

/** The first moments of many. */
function list(moments: readonly number[]): string {
  const shown = [...moments]
    .sort((a, b) => a - b)
    .slice(0, 5)
    .map(clock)
    .join(', ');
  return moments.length > 5 ? `${shown} and ${moments.length - 5} more` : shown;
}

function times(count: number, once = 'once', more = 'times'): string {
  return count === 1 ? once : `${count} ${more}`;
}

function rateWords(rate: number): string {
  return rate >= 1_000_000 ? `${oneDigit(rate / 1_000_000)} Mbit/s` : `${Math.round(rate / 1000)} kbit/s`;
}

function oneDigit(value: number): string {
  return String(Math.round(value * 10) / 10);
}
