/** How vitest runs the tests of a plugin: `millrace plugin test`. */
export default {
  test: {
    include: ['**/*.test.ts'],
    // A busy machine must not decide.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Files are loaded by Bun, as they are when the server runs, and not by way of Vite.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    pool: 'forks',
  },
};
