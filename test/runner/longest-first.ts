/**
 * The order in which vitest begins files: those that take long first, so that none of them is begun last and runs on
 * alone. Vitest itself goes by what it remembers of the last run, and in a fresh checkout by the size of the files.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest first. Both tiers end with their ten slowest: which is there and not here belongs here. Those that run alone need no place. */
export const longest = [
  'test/media/recording/recorder.test.ts',
  'test/conformance/store/sqlite.test.ts',
  'test/broadcast.test.ts',
  'test/conformance/jobs/sqlite.test.ts',
  'test/conformance/blobs/fs.test.ts',
  'test/crash/step.test.ts',
  'test/plugins/recordings/nodes.test.ts',
  'test/plugins/lists.test.ts',
  'test/media/push/random.test.ts',
  'test/media/recording/multipart-uploads.test.ts',
  'test/hls/packager.test.ts',
  // e2e
  'test/crash/tasks.e2e.ts',
  'test/cluster/same-semantics.e2e.ts',
  'test/conformance/bus/kafka-faults.e2e.ts',
  'test/e2e/hostile.e2e.ts',
  'test/conformance/blobs/s3.e2e.ts',
  'test/e2e/dvr.e2e.ts',
  'test/e2e/recording-faults.e2e.ts',
  'test/e2e/outages.e2e.ts',
  'test/package/package.e2e.ts',
  'test/recording/take-film.e2e.ts',
  'test/transcode/normalise.e2e.ts',
  'test/renditions/recorded.e2e.ts',
  'test/fleet/rollback.e2e.ts',
  'test/multistream/survives.e2e.ts',
  'test/e2e/recording.e2e.ts',
  'test/transcode/transcode.e2e.ts',
  'test/e2e/low-latency.e2e.ts',
  'test/conformance/store/redis.e2e.ts',
  'test/vod/playback.e2e.ts',
  'test/conformance/bus/kafka.e2e.ts',
  'test/fleet/recording.e2e.ts',
  'test/conformance/store/redis-kill.e2e.ts',
  'test/e2e/encoders.e2e.ts',
  'test/e2e/recording-crash.e2e.ts',
  'test/e2e/crash.e2e.ts',
  'test/media/recording/recorder-crash.e2e.ts',
  'test/mp4/on-demand.e2e.ts',
  'test/conformance/jobs/redis-driver.e2e.ts',
  'test/engines/lifetime.e2e.ts',
  'test/media/push/srt-push.e2e.ts',
  'test/fleet/start.e2e.ts',
  'test/renditions/processes.e2e.ts',
  'test/stills/films.e2e.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Projects run in their order, whatever the files: the sort is stable, so that is kept where it is compared first.
    return sorted.sort(
      (one, other) =>
        groupOf(one) - groupOf(other) ||
        Number(isShared(one)) - Number(isShared(other)) ||
        rankOf(one) - rankOf(other),
    );
  }
}

/** A process that files share ends when the next file wants one of its own: so those come first. */
function isShared({ project }: TestSpecification): boolean {
  return !project.config.isolate;
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder;
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = longest.indexOf(relative(process.cwd(), moduleId));
  return rank === -1 ? longest.length : rank;
}
