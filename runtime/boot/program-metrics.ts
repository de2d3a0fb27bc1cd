import { type AnyElysia, Elysia } from 'elysia';
import { type Counter, type Metrics, metricsType } from '../../core/base/metrics.ts';
import { says } from '../../core/http/http.ts';
import { text } from '../../core/http/operation.ts';
import type { Services } from '../../core/plugin/services.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Converter } from '../../core/ports/converter.ts';
import type { Media } from '../../core/ports/media.ts';
import type { Recorder } from '../../core/ports/recorder.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { ActorRuntime } from '../actors/actor-runtime.ts';
import { floodCounts } from '../actors/emit-gate.ts';

/** What the parts of a running program know anyway; they are asked when somebody reads the metrics. */
export function measureProgram(metrics: Metrics, parts: ProgramParts): void {
  const { clock, runtime } = parts;
  const { media, recorder, converter } = parts.services;
  const { version } = packageJson;
  const began = clock.now();
  metrics.reading('millrace_build_info', { help: 'Always 1.', labels: { version }, read: () => 1 });
  readEach(metrics, {
    millrace_uptime_seconds: ['Time since the start.', () => (clock.now() - began) / 1000],
    process_resident_memory_bytes: ['Resident memory size in bytes.', () => process.memoryUsage.rss()],
    millrace_actors_hot: ['Actors kept in memory.', () => runtime.hotActors],
    millrace_actor_timers: ['Deadlines of actors that are pending.', () => runtime.pendingTimers],
  });
  if (media) measureMedia(metrics, media);
  if (recorder) measureRecorder(metrics, recorder);
  if (converter) measureConverter(metrics, converter);
  countEvents(metrics, parts);
  // So that its name is there before a plugin emits.
  floodCounts(metrics);
}

type Readings = Readonly<Record<string, readonly [help: string, read: () => number]>>;

function readEach(metrics: Metrics, readings: Readings): void {
  for (const [name, [help, read]] of Object.entries(readings)) metrics.reading(name, { help, read });
}

/** How often each thing happened, under one label. */
function readCounts(
  metrics: Metrics,
  name: string,
  { help, label, read }: { help: string; label: string; read: () => Readonly<Record<string, number>> },
): void {
  const readings = () => Object.entries(read()).map(([key, value]) => ({ labels: { [label]: key }, value }));
  metrics.readings(name, { help, read: readings });
}

/** For whoever can reach it: it tells how busy the server is, and nothing of whom. */
export function metricsRoute(metrics: Metrics): AnyElysia {
  return new Elysia().get(
    '/metrics',
    async () => new Response(await metrics.fresh(), { headers: { 'content-type': metricsType } }),
    says('How busy the server is, in Prometheus text format 0.0.4. Open, without ids or secrets.', {
      name: 'getMetrics',
      isOpen: true,
      isOnEveryNode: true,
      answers: { 200: text(['text/plain'], 'Prometheus text format 0.0.4.') },
    }),
  );
}

interface ProgramParts {
  readonly clock: Clock;
  readonly runtime: Pick<ActorRuntime, 'hotActors' | 'pendingTimers' | 'ownEvents'>;
  readonly services: Partial<Pick<Services, 'media' | 'recorder' | 'converter'>>;
  /** Types of the events that enabled plugins emit. */
  readonly eventTypes: readonly string[];
}

function measureMedia(metrics: Metrics, media: Media): void {
  readEach(metrics, {
    millrace_media_publishes: ['Broadcasts that are being received.', () => media.totals().publishes],
    millrace_media_outputs: [
      'Playlists kept, with a broadcast or waiting for it to come back.',
      () => media.totals().outputs,
    ],
    millrace_media_received_bytes_total: ['Media payload received.', () => media.totals().bytes],
    millrace_media_waiting_viewers: [
      'Requests of viewers that wait for media.',
      () => media.totals().waitingViewers,
    ],
    millrace_media_viewers: [
      'Different viewers of live playlists over the last 20 s, an estimate.',
      () => media.totals().viewers,
    ],
  });
}

function measureRecorder(metrics: Metrics, recorder: Recorder): void {
  readEach(metrics, {
    millrace_recordings_growing: [
      'Recordings that are being written on this node.',
      () => recorder.totals().growing,
    ],
    millrace_recordings_takes: [
      'Recordings on this node that grow, wait to be finished, or are finished and not yet removed.',
      () => recorder.totals().files,
    ],
    millrace_recordings_takes_bytes: [
      'Bytes that these recordings take on the disk.',
      () => recorder.totals().bytes,
    ],
    millrace_recordings_written_bytes_total: [
      'Bytes written to recordings.',
      () => recorder.totals().written,
    ],
  });
  readCounts(metrics, 'millrace_recordings_rendition_gaps_total', {
    help: 'Gaps in recorded renditions, by reason. The recording shows the source there.',
    label: 'reason',
    read: () => recorder.totals().renditionGaps,
  });
  readCounts(metrics, 'millrace_recordings_gaps_total', {
    help: 'Gaps in recordings, by reason.',
    label: 'reason',
    read: () => recorder.totals().gaps,
  });
}

function measureConverter(metrics: Metrics, converter: Converter): void {
  readEach(metrics, {
    millrace_conversions_running: [
      'Films that are converted on this node: transcodes, and uploads and imports that are normalised.',
      () => converter.totals().running,
    ],
    millrace_conversions_waiting: ['Films that wait for a conversion.', () => converter.totals().waiting],
  });
  readCounts(metrics, 'millrace_conversions_total', {
    help: 'Conversions that ended, by outcome.',
    label: 'end',
    read: () => converter.totals().ended,
  });
}

function countEvents(metrics: Metrics, { runtime, eventTypes }: ProgramParts): void {
  const family = metrics.counter('millrace_events_total', 'Events committed by this process, by type.');
  const byType = new Map<string, Counter>();
  for (const type of eventTypes) byType.set(type, family.with({ type }));
  const other = family.with({ type: 'other' });
  runtime.ownEvents.subscribe(({ type }) => (byType.get(type) ?? other).add());
}
