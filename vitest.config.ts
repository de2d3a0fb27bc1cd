import { defineConfig } from 'vitest/config';

const inCi = Boolean(process.env.CI);

/** Modules that Bun itself provides: Vite must leave them to the runtime. */
const bunModules = {
  name: 'bun-modules',
  enforce: 'pre' as const,
  resolveId: (id: string) => (/^bun(:|$)/.test(id) ? { id, external: true } : null),
};

export default defineConfig({
  plugins: [bunModules],
  test: {
    globals: false,
    // Child processes: a test that leaks or crashes takes only its own file along.
    pool: 'forks',
    maxWorkers: 2,
    allowOnly: !inCi,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**'],
          testTimeout: 10_000,
          hookTimeout: 10_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          // Beside the e2e tests: conformance suites on real engines.
          include: ['test/**/*.e2e.ts'],
          testTimeout: 240_000,
          hookTimeout: 60_000,
          maxConcurrency: 8,
        },
      },
    ],
  },
});
