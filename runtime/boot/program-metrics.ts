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

/** What the parts of a running program know anyway; they are asked when somebody reads the metrics. */
export function measureProgram(metrics: Metrics, parts: ProgramParts): void {
  const { clock, runtime } = parts;
  const { media, recorder, converter } = parts.services;
  const { version } = packageJson;
  const began = clock.now();
  metrics.reading('millrace_build_info', { help: 'Always 1.', labels: { version }, read: () => 1 });
  metrics.reading('millrace_uptime_seconds', {
    help: 'Time since the start.',
    read: () => (clock.now() - began) / 1000,
  });
  metrics.reading('process_resident_memory_bytes', {
    help: 'Resident memory size in bytes.',
    read: () => process.memoryUsage.rss(),
  });
  metrics.reading('millrace_actors_hot', { help: 'Actors kept in memory.', read: () => runtime.hotActors });
  metrics.reading('millrace_actor_timers', {
    help: 'Deadlines of actors that are pending.',
    read: () => runtime.pendingTimers,
  });
  if (media) measureMedia(metrics, media);
  if (recorder) measureRecorder(metrics, recorder);
  if (converter) measureConverter(metrics, converter);
  countEvents(metrics, parts);
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
  metrics.reading('millrace_media_publishes', {
    help: 'Broadcasts that are being received.',
    read: () => media.totals().publishes,
  });
  metrics.reading('millrace_media_outputs', {
    help: 'Playlists kept, with a broadcast or waiting for it to come back.',
    read: () => media.totals().outputs,
  });
  metrics.reading('millrace_media_received_bytes_total', {
    help: 'Media payload received.',
    type: 'counter',
    read: () => media.totals().bytes,
  });
  metrics.reading('millrace_media_waiting_viewers', {
    help: 'Requests of viewers that wait for media.',
    read: () => media.totals().waitingViewers,
  });
  metrics.reading('millrace_media_viewers', {
    help: 'Different viewers of live playlists over the last 20 s, an estimate.',
    read: () => media.totals().viewers,
  });
}

function measureRecorder(metrics: Metrics, recorder: Recorder): void {
  metrics.reading('millrace_recordings_growing', {
    help: 'Recordings that are being written on this node.',
    read: () => recorder.totals().growing,
  });
  metrics.reading('millrace_recordings_takes', {
    help: 'Recordings on this node that grow, wait, or are finished and not yet removed.',
    read: () => recorder.totals().files,
  });
  metrics.reading('millrace_recordings_takes_bytes', {
    help: 'What those take on its disk.',
    read: () => recorder.totals().bytes,
  });
  metrics.reading('millrace_recordings_written_bytes_total', {
    help: 'Bytes written to recordings.',
    type: 'counter',
    read: () => recorder.totals().written,
  });
  metrics.readings('millrace_recordings_rendition_gaps_total', {
    type: 'counter',
    help: 'Times that a rendition of a broadcast could not be written down, by why. Its recording shows the source there.',
    read: () =>
      Object.entries(recorder.totals().renditionGaps).map(([reason, value]) => ({
        labels: { reason },
        value,
      })),
  });
  metrics.readings('millrace_recordings_gaps_total', {
    help: 'Times that something of a broadcast could not be written down, by why.',
    type: 'counter',
    read: () =>
      Object.entries(recorder.totals().gaps).map(([reason, value]) => ({ labels: { reason }, value })),
  });
}

function measureConverter(metrics: Metrics, converter: Converter): void {
  metrics.reading('millrace_conversions_running', {
    help: 'Films that are converted on this node: transcodes, and uploads and imports that are normalised.',
    read: () => converter.totals().running,
  });
  metrics.reading('millrace_conversions_waiting', {
    help: 'Films that wait for that.',
    read: () => converter.totals().waiting,
  });
  metrics.readings('millrace_conversions_total', {
    help: 'Conversions that ended, by what became of them.',
    type: 'counter',
    read: () => Object.entries(converter.totals().ended).map(([end, value]) => ({ labels: { end }, value })),
  });
}

function countEvents(metrics: Metrics, { runtime, eventTypes }: ProgramParts): void {
  const family = metrics.counter('millrace_events_total', 'Events committed by this process, by type.');
  const byType = new Map<string, Counter>();
  for (const type of eventTypes) byType.set(type, family.with({ type }));
  const other = family.with({ type: 'other' });
  runtime.ownEvents.subscribe(({ type }) => (byType.get(type) ?? other).add());
}
