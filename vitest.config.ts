import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/runner/longest-first.ts';

const inCi = Boolean(process.env.CI);

/** Has the machine to itself. */
const alone = [
  // How long the loop is held up while blobs of any size pass through.
  'test/conformance/blobs/memory.e2e.ts',
  // Eight players at once must be back at live soon after an outage.
  'test/e2e/embed.e2e.ts',
  // Players of others come back after an outage as fast as the machine lets them.
  'test/e2e/guides/guides.e2e.ts',
  // A browser that plays live may leave out one picture of twenty.
  'test/e2e/on-air.e2e.ts',
  // Transcoders, which have the least priority of all, must keep up with 720p.
  'test/renditions/alignment.e2e.ts',
  'test/renditions/recorded-whole.e2e.ts',
  // Chromium must switch without a stall.
  'test/renditions/switching.e2e.ts',
  // Four servers with three ffmpegs each: transcoders that do not keep up would be what is seen.
  'test/renditions/transcoder-dies.e2e.ts',
];

/** Has a process to itself: it changes what belongs to the whole process, or counts that. */
const ownProcess = [
  // The environment.
  'test/engines/cache.test.ts',
  // All timers, the date.
  'test/conformance/bus/kafka-client.test.ts',
  'test/webhooks/signature.test.ts',
  // What is sent to threads.
  'test/kernel/intake/received.test.ts',
  // Open files, processes, memory.
  'test/conformance/blobs/fs-folder.test.ts',
  'test/ffmpeg/*.test.ts',
  'test/media/recording/recorder.test.ts',
];

/** Clients of other platforms (test/clients) bring tests of their own. */
const packages = '**/node_modules/**';

const unit = {
  // Far more than they need: a busy machine must not decide.
  testTimeout: 30_000,
  hookTimeout: 30_000,
  // Some wait for a disk, a process or a socket: three at a time keep two cores busy.
  maxWorkers: 3,
};

const e2e = {
  testTimeout: 240_000,
  hookTimeout: 60_000,
  maxConcurrency: 8,
};

export default defineConfig({
  test: {
    globals: false,
    // How tests and examples find `millrace/*`.
    setupFiles: ['./test/kit/entry-points.ts'],
    // Files are loaded by Bun, as they are when they run, and not by way of Vite: half of what importing costs, and exact.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Child processes: one that crashes does not take the run along.
    pool: 'forks',
    maxWorkers: 2,
    allowOnly: !inCi,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          ...unit,
          name: 'unit',
          include: ['test/**/*.test.ts', 'examples/*/*.test.ts'],
          exclude: [...ownProcess, packages],
          // Files share three processes. To start one and load and warm up the program for each file is a third of the whole.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { ...unit, name: 'unit-alone', include: ownProcess },
      },
      {
        extends: true,
        test: {
          ...e2e,
          name: 'e2e',
          include: ['test/**/*.e2e.ts'],
          exclude: [...alone, packages],
          // They wait more than they work: three files at a time keep two cores busy.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          ...e2e,
          name: 'e2e-alone',
          include: alone,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
