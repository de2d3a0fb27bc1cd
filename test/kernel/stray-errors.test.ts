import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { originOf } from '../../runtime/boot/stray-errors.ts';

const root = resolve(import.meta.dirname, '../..');
const plugins = [
  { plugin: { id: 'streams' }, file: 'plugins/streams' },
  { plugin: { id: 'views' }, file: '/deploy/node_modules/@acme/views/dist/index.js' },
  { plugin: { id: 'captions' }, file: '/deploy/captions.ts' },
  { plugin: { id: 'subtitles' }, file: '/deploy/subtitles.ts' },
];
const thrown = (...files: string[]) =>
  Object.assign(new TypeError('x'), {
    stack: ['TypeError: x', ...files.map((file, n) => `    at ${n === 0 ? file : `f (${file})`}`)].join('\n'),
  });

describe('an error that nobody waits for is', () => {
  it.each([
    ['of a package that is a plugin', ['/deploy/node_modules/@acme/views/dist/count.js:3:9'], 'views'],
    ['of a file that is a plugin', ['/deploy/subtitles.ts:3:9'], 'subtitles'],
    ['of a plugin that ships', [`${root}/plugins/streams/present.ts:1:2`], 'streams'],
    [
      'of the plugin that called the program',
      [`${root}/runtime/boot/kits.ts:1:2`, 'native:1:2', '/deploy/captions.ts:9:1'],
      'captions',
    ],
    ['of the plugin whose file has a space', ['/deploy/node_modules/@acme/views/my file.js:1:2'], 'views'],
  ])('%s', (_, files, plugin) => {
    expect(originOf(thrown(...files), plugins)).toEqual({ plugin, isOwn: false });
  });

  it.each([['core/base/metrics.ts'], ['runtime/actors/host.ts'], ['config/load.ts'], ['machines/task.ts']])(
    'of the program: %s',
    (file) => {
      // Also where the program lies beside a plugin, in the folder of a deployment.
      const beside = { plugin: { id: 'beside' }, file: join(root, 'beside.ts') };
      expect(originOf(thrown(`${join(root, file)}:1:2`), [...plugins, beside])).toEqual({
        ...{ plugin: undefined, isOwn: true },
      });
    },
  );

  it.each([
    ['of another package', thrown('/deploy/node_modules/kafkajs/src/index.js:1:2')],
    ['no error at all', 'text'],
    ['nothing', undefined],
    ['without a stack', Object.assign(new Error('x'), { stack: undefined })],
    ['an answer of the program', Object.assign(new Fault('store.busy', { status: 503, message: 'x' }))],
  ])('nobody can tell whose: %s', (_, error) => {
    expect(originOf(error, plugins)).toEqual({ plugin: undefined, isOwn: false });
  });
});
