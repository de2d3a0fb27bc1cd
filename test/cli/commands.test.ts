import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { contractVersion } from '../../core/plugin/plugin.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { type Ended, millrace } from './printed.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The same in a process of its own, in a folder of its own. */
function inFolder(...words: readonly string[]): Promise<Ended> {
  const main = join(import.meta.dirname, '../../cli/main.ts');
  const env = { PATH: process.env.PATH ?? '', HOME: folder };
  return new Promise((resolve) =>
    execFile(process.execPath, ['--no-install', main, ...words], { cwd: folder, env }, (failed, out, error) =>
      resolve({ code: Number(failed?.code ?? 0), out, error }),
    ),
  );
}

describe('millrace', () => {
  it('is a process that ends with the exit code', async () => {
    expect(await inFolder('version', '--json')).toMatchObject({ code: 0, error: '' });
    expect(await inFolder('strat')).toMatchObject({ code: 2, out: '' });
  });

  it('without a command shows all of them, as a wrong usage', async () => {
    const { code, out, error } = await millrace();
    expect([code, out]).toEqual([2, '']);
    for (const name of ['start', 'plugin new', 'plugin test', 'plugin check', 'version'])
      expect(error).toMatch(new RegExp(`^ {2}${name} {2,}\\S`, 'm'));
  });

  it.each([
    [['help'], /^Usage: millrace <command>\n/],
    [['--help'], /^Usage: millrace <command>\n/],
    [['help', 'start'], /^Usage: millrace start \[--config FILE\]\n/],
    [['plugin', 'new', '--help'], /^Usage: millrace plugin new <id\|@scope\/id> \[--dir DIR\]\n/],
    [['version'], new RegExp(`^millrace ${packageJson.version} \\(plugin contract ${contractVersion}, Bun `)],
    [['--version'], /^millrace /],
  ])('%j prints and ends with 0', async (words, printed) => {
    const { code, out, error } = await millrace(...words);
    expect([code, error]).toEqual([0, '']);
    expect(out).toMatch(printed);
  });

  it.each([
    [['strat'], 'millrace: there is no command strat; did you mean start?'],
    [['nonsense'], 'millrace: there is no command nonsense; there are start, demo,'],
    [['help', 'versoin'], 'millrace: there is no command versoin; did you mean version?'],
    [['plugin'], 'millrace: plugin is one of: plugin new, plugin test, plugin check.'],
    [['plugin', 'chek', 'x'], 'millrace: there is no command plugin chek; did you mean plugin check?'],
    [['plugin', 'new'], 'millrace plugin new: an argument is missing.'],
    [['version', 'x'], 'millrace version: there is an argument too many: x'],
    [['start', '--cnofig', 'x'], "millrace start: Unknown option '--cnofig'"],
    [['start', '--config'], "millrace start: Option '--config <value>' argument missing"],
  ])('%j says what is wrong and ends with 2', async (words, said) => {
    const { code, out, error } = await millrace(...words);
    expect([code, out]).toEqual([2, '']);
    expect(error.startsWith(said), error).toBe(true);
  });

  it('checks a config, and prints it without its secrets', async () => {
    const file = join(folder, 'config.json');
    await writeFile(file, JSON.stringify({ bootstrapKey: 'a-very-secret-key', http: { port: 81 } }));
    const fine = await millrace('config', 'check', '--config', file);
    expect(fine).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^The config is fine: 2 of \d+ keys are set\.\n/),
    });
    const printed = await millrace('config', 'print', '--set', '--config', file);
    expect(printed.out).toMatch(/^bootstrapKey {2}file {2}"••••"$/m);
    expect(printed.out).toMatch(/^http\.port {5}file {2}81$/m);
    const { out } = await millrace('config', 'print', '--json', '--config', file);
    expect(JSON.parse(out)).toContainEqual({ key: 'http.port', value: 81, source: 'file', isSecret: false });
    await writeFile(file, JSON.stringify({ http: { port: 'x' }, colour: 1 }));
    const wrong = await millrace('config', 'check', '--config', file);
    expect(wrong).toMatchObject({
      code: 78,
      error: expect.stringMatching(/colour: unknown field[\s\S]*http\.port: expected/),
    });
  });
});

describe('millrace start', () => {
  it('ends with 78 where the config is wrong', async () => {
    await writeFile(join(folder, 'wrong.yaml'), 'http: {port: nonsense}\n');
    const { code, error } = await inFolder('start', '--config', 'wrong.yaml');
    expect([code, error]).toEqual([78, expect.stringContaining('http.port: expected integer')]);
  });
});

describe('millrace plugin new', () => {
  it('writes a package', async () => {
    expect(await inFolder('plugin', 'new', '@acme/live-captions')).toMatchObject({ code: 0, error: '' });
    const files = (await readdir(join(folder, 'live-captions'))).sort();
    expect(files).toEqual(
      ['.gitignore', 'README.md', 'index.test.ts', 'index.ts', 'package.json', 'tsconfig.json'].sort(),
    );
    const texts = await Promise.all(
      files.map((file) => readFile(join(folder, 'live-captions', file), 'utf8')),
    );
    expect(texts.join('\n')).not.toMatch(/\{\{|undefined/);
    expect(JSON.parse(texts[files.indexOf('package.json')] as string)).toMatchObject({
      name: '@acme/live-captions',
      peerDependencies: { millrace: `^${packageJson.version}` },
    });
  });

  it('gives a name without a scope to a package of Millrace, in the folder that it is told', async () => {
    expect(await millrace('plugin', 'new', 'views', '--dir', join(folder, 'some/where'))).toMatchObject({
      code: 0,
    });
    const written = await readFile(join(folder, 'some/where/package.json'), 'utf8');
    expect(JSON.parse(written).name).toBe('millrace-views');
  });

  it.each([
    ['Views', 2, 'expected an id in kebab-case'],
    ['@Acme/views', 2, 'expected an id in kebab-case'],
    ['../views', 2, 'expected an id in kebab-case'],
    ['streams', 2, 'streams is a plugin that comes with Millrace'],
    ['views', 1, 'is not empty'],
  ])('refuses %s', async (id, code, said) => {
    await mkdir(join(folder, 'full/x'), { recursive: true });
    const ended = await millrace('plugin', 'new', id, '--dir', join(folder, 'full'));
    expect([ended.code, ended.out]).toEqual([code, '']);
    expect(ended.error).toContain(said);
  });
});

describe('millrace plugin test', () => {
  it('says what is missing', async () => {
    expect(await inFolder('plugin', 'test')).toEqual({
      ...{ code: 1, out: '' },
      error: 'millrace plugin test: vitest is not installed here: npm install --save-dev vitest\n',
    });
  });
});

describe('millrace plugin check', () => {
  const head = `
import { definePlugin, Elysia, json, object, says, stream, field, token, Type } from 'millrace/plugin';
const route = (name) => new Elysia().get('/api/' + name, () => new Response(), says('x', { name, isOpen: true, answers: { 200: json(object({})) } }));
`;
  const plugin = (keys: string) =>
    `${head}export default definePlugin({ id: 'views', summary: 'counts views', contract: ${contractVersion}, ${keys} });\n`;
  let count = 0;
  const checkedFile = () => join(folder, `checked-${count}.ts`);
  const check = async (source: string, ...words: readonly string[]) => {
    // A module is loaded once.
    count += 1;
    await writeFile(checkedFile(), source);
    return millrace('plugin', 'check', checkedFile(), ...words);
  };

  it('says what a plugin adds', async () => {
    const { code, out, error } = await check(
      plugin(`config: object({ most: Type.Integer({ default: 3 }) }), routes: () => route('getViews'),
        emits: { 'views.many': 'Many watch.' }, extends: [field(stream, 'views', { schema: Type.Integer(), initial: 0 })]`),
    );
    expect([code, error]).toEqual([0, '']);
    expect(out).toMatch(
      /^views fits: counts views \(.*\/checked-\d+\.ts\)\n {2}routes: GET \/api\/getViews: x\n/,
    );
    for (const line of ['fields: stream.views', 'events: views.many', 'config keys: most'])
      expect(out).toContain(`\n  ${line}\n`);
  });

  it.each([
    ['syntax', 'export default {', /could not be loaded: /],
    ['no plugin', 'export default 1;', /the default export of .* is not a plugin$/m],
    [
      'an unknown import',
      "import { definePlugn } from 'millrace/plugin'; export default definePlugn({});",
      /definePlugn/,
    ],
    ['no contract', "export default { id: 'views', summary: 'x' };", /write contract: \d into it/],
    [
      'an older contract',
      "export default { id: 'views', summary: 'x', contract: 1 };",
      /written for version 1 of/,
    ],
    ['its id', plugin("id: 'Views'"), /its id must be in kebab-case/],
    ['an id of ours', plugin("id: 'streams'"), /plugin streams is declared twice/],
    [
      'a field of ours',
      plugin("extends: [field(stream, 'name', { schema: Type.String(), initial: '' })]"),
      /field stream\.name is declared twice/,
    ],
    [
      'an unknown token',
      plugin("needs: [token('nobody.has')]"),
      /needs nobody\.has, which no enabled plugin provides/,
    ],
    [
      'an unknown event',
      plugin("reactions: { 'stream.strated': async () => {} }"),
      /reacts to stream\.strated/,
    ],
    ['config without a default', plugin('config: object({ url: Type.String() })'), /plugins\.views\.url: /],
    ['a route that says nothing', plugin("routes: () => new Elysia().get('/api/x', () => '')"), /\/api\/x/],
    ['the name of another call', plugin("routes: () => route('getStream')"), /getStream/],
    ['a start that throws', plugin("start() { throw new Error('no luck'); }"), /no luck/],
    ['a token that it does not provide', plugin("provides: [token('views')]"), /did not provide views/],
    [
      'a timer that is left',
      plugin('start: (kit) => void kit.clock.at(kit.clock.now() + 1e9, () => {})'),
      /1 timers were left behind/,
    ],
  ])('tells of %s', async (_, source, problem) => {
    const { code, out, error } = await check(source);
    expect([code, out]).toEqual([1, '']);
    expect(error).toMatch(/^\/.*\/checked-\d+\.ts does not work:\n {2}- /);
    expect(error).toMatch(problem);
    expect(error).not.toMatch(/^ {4}at /m);
  });

  it('ends though the start of the plugin does not', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      let isDone = false;
      const checked = check(plugin('start: () => new Promise(() => {})')).finally(() => {
        isDone = true;
      });
      while (!isDone) {
        vi.advanceTimersByTime(1000);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const { code, error } = await checked;
      expect(code).toBe(1);
      expect(error).toContain('it did not start within 10 s');
    } finally {
      vi.useRealTimers();
    }
  });

  it('tells of all problems at once, also as JSON', async () => {
    const source = plugin(
      "id: 'Views', needs: [token('nobody.has')], reactions: { 'stream.strated': async () => {} }",
    );
    const { code, out } = await check(source, '--json');
    expect([code, JSON.parse(out).problems.length]).toEqual([1, 3]);
  });

  it('takes the config of the deployment, whichever way that names the plugin', async () => {
    await mkdir(join(folder, 'deployment'), { recursive: true });
    const config = 'plugins: {"../near.ts": {url: "x"}, recordings: false}\n';
    await writeFile(join(folder, 'deployment/millrace.yaml'), config);
    const source = plugin(
      "config: object({ url: Type.String() }), reactions: { 'recording.ready': async () => {} }",
    );
    await writeFile(join(folder, 'near.ts'), source);
    const words = ['--config', 'deployment/millrace.yaml'];
    const { code, error } = await inFolder('plugin', 'check', 'near.ts', ...words);
    expect([code, error.trim().split('\n')]).toEqual([
      1,
      [
        'near.ts does not work:',
        '  - plugin views: reacts to recording.ready, an event that no enabled plugin emits',
      ],
    ]);
  });

  it('counts a plugin once that the config names by its package', async () => {
    const deployment = join(folder, 'linked');
    await mkdir(join(deployment, 'tags'), { recursive: true });
    await mkdir(join(deployment, 'node_modules'));
    await writeFile(
      join(deployment, 'tags/package.json'),
      '{"name": "acme-tags", "exports": "./tags.ts", "type": "module"}',
    );
    await writeFile(
      join(deployment, 'tags/tags.ts'),
      plugin('config: object({ url: Type.String() }), routes: () => route("tagsOf")'),
    );
    await symlink('../tags', join(deployment, 'node_modules/acme-tags'));
    const config = join(deployment, 'millrace.json');
    await writeFile(config, '{"plugins": {"acme-tags": {"url": "x"}}}');
    for (const path of [join(deployment, 'tags'), join(deployment, 'tags/tags.ts')]) {
      const { code, out, error } = await millrace('plugin', 'check', path, '--config', config);
      expect([code, error]).toEqual([0, '']);
      expect(out).toContain('peerDependencies.millrace is missing');
    }
  });

  it('says nothing of the package.json of the deployment', async () => {
    const deployment = join(folder, 'around');
    await mkdir(join(deployment, 'probe'), { recursive: true });
    await writeFile(
      join(deployment, 'package.json'),
      '{"name": "deployment", "dependencies": {"millrace": "1.0.0"}}',
    );
    await writeFile(join(deployment, 'probe/index.ts'), plugin(''));
    await writeFile(join(deployment, 'single.ts'), plugin(''));
    for (const name of ['probe', 'single.ts']) {
      const { code, out } = await millrace('plugin', 'check', join(deployment, name));
      expect([code, out]).toEqual([0, expect.not.stringContaining('package.json')]);
    }
    // One in the folder of the plugin is about the plugin.
    await writeFile(join(deployment, 'probe/package.json'), '{"dependencies": {"millrace": "1.0.0"}}');
    const { out } = await millrace('plugin', 'check', join(deployment, 'probe'));
    expect(out).toContain(`${deployment}/probe/package.json: millrace belongs in peerDependencies`);
  });

  it('ends with 78 where the config cannot be read', async () => {
    const { code, error } = await check(plugin(''), '--config', join(folder, 'none.yaml'));
    expect([code, error]).toEqual([78, expect.stringContaining('none.yaml')]);
  });
});
