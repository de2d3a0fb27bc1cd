import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import rules from '../../.dependency-cruiser.ts';
import { findForbiddenImports } from '../../scripts/import-rules.ts';

/** A project that keeps every rule: each case below adds one line to one of its files. */
const lawful: Record<string, string[]> = {
  'core/token.ts': ["import 'node:path';"],
  'core/plugin.ts': ["import './token.ts';"],
  'machines/broadcast.ts': ["import 'xstate';"],
  'plugins/streams/contract.ts': ["import '../../core/token.ts';"],
  'plugins/streams/present.ts': [],
  'plugins/streams/index.ts': [
    "import './present.ts';",
    "import './contract.ts';",
    "import '../../machines/broadcast.ts';",
    "import '../tasks/contract.ts';",
  ],
  'plugins/tasks/contract.ts': ["import '../streams/contract.ts';"],
  'plugins/tasks/index.ts': ["import './contract.ts';"],
  'plugins/mcp/index.ts': ["import '../../sdk/plugin.ts';", "import './client.ts';"],
  'plugins/mcp/client.ts': ["import '../../sdk/client/index.ts';"],
  'runtime/boot.ts': ["import '../core/plugin.ts';"],
  'runtime/main.ts': ["import './boot.ts';", "import '../config/load.ts';"],
  'runtime/drivers/store/sqlite.ts': ["import 'bun:sqlite';"],
  'runtime/media/rtmp/client-session.ts': [],
  'runtime/media/rtmp/session.ts': [],
  'runtime/media/publish/subscriber.ts': [],
  'runtime/media/live/output.ts': ["import '../publish/subscriber.ts';"],
  'runtime/media/recording/recording-tap.ts': ["import '../publish/subscriber.ts';"],
  'runtime/media/broadcast/broadcast.ts': [
    "import '../live/output.ts';",
    "import '../recording/recording-tap.ts';",
  ],
  'config/load.ts': ["import('../plugins/streams/index.ts');"],
  'demo/broadcast.ts': ["import '../runtime/media/rtmp/client-session.ts';"],
  'demo/main.ts': ["import './broadcast.ts';", "import './server.ts';"],
  'demo/server.ts': ["import '../config/load.ts';"],
  'test/kit.ts': ["import '../runtime/boot.ts';"],
  'test/kit/world.ts': ["import '../../runtime/boot.ts';"],
  'sdk/plugin.ts': [
    "import '../core/plugin.ts';",
    "import '../machines/broadcast.ts';",
    "import '../plugins/streams/contract.ts';",
    "import 'elysia';",
  ],
  'sdk/testing.ts': ["import '../test/kit/world.ts';"],
  'sdk/client/index.ts': ["import './api.ts';"],
  'sdk/client/api.ts': [],
  'cli/main.ts': ["import './start.ts';", "import '../config/load.ts';"],
  'cli/start.ts': ["import('../runtime/main.ts');"],
  'cli/push.ts': ["import '../demo/broadcast.ts';", "import '../sdk/client/index.ts';"],
  'examples/views/index.ts': ["import 'millrace/plugin';", "import './table.ts';"],
  'examples/views/table.ts': [],
  'examples/views/index.test.ts': ["import 'millrace/testing';", "import './index.ts';"],
  'examples/hooks/index.ts': [],
  'bench/ingest.ts': ["import '../demo/main.ts';"],
  'scripts/run.ts': [],
};

/** Rule broken, file, the line that breaks it. */
const breaches: [rule: string, file: string, line: string][] = [
  ['core-alone', 'core/plugin.ts', "import '../runtime/drivers/store/sqlite.ts';"],
  ['core-alone', 'core/plugin.ts', "import type { A } from '../machines/broadcast.ts';"],
  ['machines-only-xstate', 'machines/broadcast.ts', "import '../core/token.ts';"],
  ['machines-only-xstate', 'machines/broadcast.ts', "import 'node:crypto';"],
  ['machines-only-xstate', 'machines/broadcast.ts', "import 'elysia';"],
  ['plugins-to-core-and-machines', 'plugins/streams/index.ts', "import '../../runtime/boot.ts';"],
  ['plugins-to-core-and-machines', 'plugins/streams/index.ts', "import('../../config/load.ts');"],
  ['dialects-to-the-plugin-entry', 'plugins/mux-compat/images.ts', "import '../../core/token.ts';"],
  ['dialects-to-the-plugin-entry', 'plugins/mux-compat/images.ts', "import '../streams/contract.ts';"],
  ['dialects-to-the-plugin-entry', 'plugins/mcp/index.ts', "import '../streams/contract.ts';"],
  ['plugins-meet-through-contracts', 'plugins/tasks/index.ts', "import '../streams/present.ts';"],
  [
    'plugins-meet-through-contracts',
    'plugins/tasks/index.ts',
    "import type { A } from '../streams/index.ts';",
  ],
  ['contracts-hold-no-logic', 'plugins/streams/contract.ts', "import './present.ts';"],
  ['runtime-to-core', 'runtime/boot.ts', "import '../config/load.ts';"],
  ['runtime-to-core', 'runtime/boot.ts', "import '../plugins/streams/contract.ts';"],
  ['main-to-config', 'runtime/main.ts', "import '../plugins/streams/index.ts';"],
  ['config-to-core-and-plugins', 'config/load.ts', "import '../runtime/boot.ts';"],
  ['config-to-core-and-plugins', 'config/load.ts', "import('../sdk/plugin.ts');"],
  ['plugin-entry-to-contracts', 'sdk/plugin.ts', "export * from '../runtime/boot.ts';"],
  ['plugin-entry-to-contracts', 'sdk/plugin.ts', "export * from '../plugins/streams/present.ts';"],
  ['testing-entry-to-kit', 'sdk/testing.ts', "export * from '../runtime/boot.ts';"],
  ['client-alone', 'sdk/client/api.ts', "import '../../core/token.ts';"],
  ['client-alone', 'sdk/client/api.ts', "import 'node:crypto';"],
  ['cli-to-the-program', 'cli/start.ts', "import '../runtime/media/rtmp/session.ts';"],
  ['cli-to-the-program', 'cli/start.ts', "import('../plugins/streams/index.ts');"],
  ['cli-to-the-program', 'cli/push.ts', "import '../demo/server.ts';"],
  ['examples-are-outsiders', 'examples/views/index.ts', "import '../../sdk/plugin.ts';"],
  ['examples-are-outsiders', 'examples/views/index.test.ts', "import '../../test/kit/world.ts';"],
  ['examples-are-outsiders', 'examples/views/index.ts', "import '../hooks/index.ts';"],
  ['entry-points-for-outsiders', 'plugins/streams/index.ts', "import 'millrace/plugin';"],
  ['nothing-imports-tests', 'sdk/client/index.ts', "import '../../test/kit.ts';"],
  ['resolvable', 'examples/views/index.ts', "import 'millrace/core';"],
  ['demo-is-a-client', 'demo/main.ts', "import '../runtime/boot.ts';"],
  ['demo-is-a-client', 'demo/broadcast.ts', "import '../runtime/media/rtmp/session.ts';"],
  [
    'publisher-below-its-subscribers',
    'runtime/media/live/output.ts',
    "import '../recording/recording-tap.ts';",
  ],
  [
    'broadcast-on-top',
    'runtime/media/recording/recording-tap.ts',
    "import type { A } from '../broadcast/broadcast.ts';",
  ],
  ['nothing-imports-tests', 'runtime/boot.ts', "import '../scripts/run.ts';"],
  ['nothing-imports-tests', 'demo/main.ts', "import '../bench/ingest.ts';"],
  ['sqlite-in-drivers', 'runtime/boot.ts', "import { Database } from 'bun:sqlite';"],
  ['sqlite-in-drivers', 'plugins/streams/index.ts', "import('bun:sqlite');"],
  ['fluent-ffmpeg-in-one-file', 'runtime/boot.ts', "import ffmpeg from 'fluent-ffmpeg';"],
  ['no-cycles', 'core/token.ts', "import './plugin.ts';"],
  ['resolvable', 'core/token.ts', "import './gone.ts';"],
];

test('a lawful project passes, and every file of it is read', async () => {
  using project = fixture(lawful);
  expect(await findForbiddenImports(project.root)).toEqual({
    read: Object.keys(lawful).length,
    problems: [],
  });
});

test.each(breaches)('%s: %s with %s', async (rule, file, line) => {
  using project = fixture({ ...lawful, [file]: [...(lawful[file] ?? []), line] });
  const { problems } = await findForbiddenImports(project.root);
  expect(problems.map((problem) => problem.split(':')[0])).toContain(rule);
});

test('every rule has a case here', () => {
  const names = rules.forbidden?.map(({ name }) => name);
  expect(new Set(breaches.map(([rule]) => rule))).toEqual(new Set(names));
});

test('a project without sources does not pass', async () => {
  using project = fixture({});
  expect((await findForbiddenImports(project.root)).problems).not.toEqual([]);
});

function fixture(files: Record<string, string[]>) {
  const root = mkdtempSync(join(tmpdir(), 'millrace-imports-'));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const [path, lines] of Object.entries(files)) write(path, `${lines.join('\n')}\nexport type A = 1;\n`);
  for (const name of ['xstate', 'elysia']) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', main: 'index.js' }));
    write(`node_modules/${name}/index.js`, '');
  }
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}
