import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig, readConfig } from '../../../config/load.ts';
import { enabledPlugins, importPlugins } from '../../../config/plugins.ts';
import { concealed, secretsOf } from '../../../config/secrets.ts';
import { planOf } from '../../../runtime/boot/plan.ts';

describe('config', () => {
  it('tells what is wrong with a plugin beside what is wrong with the rest', async () => {
    const { config, problems } = await readConfig({
      MILLRACE_HTTP__PORT: 'x',
      MILLRACE_NODE__TIMEOUT: '0s',
      MILLRACE_PLUGINS__STREEMS: 'true',
      MILLRACE_PLUGINS__CONSTRUCTOR: '{}',
      MILLRACE_PLUGINS__STREAMS__HOLD: 'soon',
    });
    const imported = await importPlugins(config.plugins);
    expect([...problems, ...imported.problems, ...planOf(imported.plugins).problems]).toEqual([
      'http.port: expected integer',
      'node.timeout: expected at least 1s',
      expect.stringMatching(/^plugins\.constructor: there is no such plugin/),
      expect.stringMatching(/^plugins\.streems: there is no such plugin/),
      'plugins.streams.hold: expected a duration such as "30s"',
    ]);
  });

  it('names the plugin that was probably meant, also by one that is switched off', async () => {
    const { problems } = await importPlugins({ streems: true, wacth: false, '@acme/captions': false });
    expect(problems).toEqual([
      expect.stringMatching(/^plugins\.wacth: there is no such plugin .* did you mean watch\?$/),
      expect.stringMatching(/^plugins\.streems: there is no such plugin .* did you mean streams\?$/),
    ]);
  });

  it.each([
    [{ hold: '7m' }, ['hold: expected at most plugins.streams.reconnectWindow, which is 6m; it is 7m']],
    [
      { hold: '30s', reconnectWindow: '20s' },
      ['hold: expected at most plugins.streams.reconnectWindow, which is 20s; it is 30s'],
    ],
    [{ hold: '6m' }, []],
    // The default of hold gives way: nobody asked for it.
    [{ reconnectWindow: '20s' }, []],
    [{ holdd: '20s' }, ['holdd: unknown field; did you mean hold?']],
  ])('compares the two windows of plugins.streams: %j', async (slice, problems) => {
    const { plugins } = await importPlugins({ streams: slice });
    expect(planOf(plugins).problems).toEqual(problems.map((problem) => `plugins.streams.${problem}`));
  });

  const problemsOf = async (ipfs: object) => {
    const { plugins } = await importPlugins({ tasks: { ipfs } });
    return planOf(plugins).problems;
  };

  it.each([
    [{}, []],
    [{ driver: 'local', cidProfile: 'unixfs-v0-2015' }, []],
    [{ driver: 'kubo', endpoint: 'http://127.0.0.1:5001/' }, []],
    [{ driver: 'pinning', jwt: 'a.b.c' }, []],
    [{ driver: 'pinning', endpoint: 'https://pin.example', apiKey: 'a', apiSecret: 'b' }, []],
    [{ driver: 'web3' }, ['driver: expected "local", "kubo" or "pinning"']],
    [{ driver: 'kubo' }, ['endpoint: is required where the driver is "kubo", such as http://127.0.0.1:5001']],
    [
      { endpoint: 'http://a.example' },
      ['endpoint: is for the drivers "kubo" and "pinning"; the driver is "local"'],
    ],
    [
      { driver: 'kubo', endpoint: 'http://user:word@a.example' },
      ['endpoint: expected a URL without user, query or fragment, such as http://127.0.0.1:5001'],
    ],
    [{ driver: 'pinning' }, ['jwt: is required where the driver is "pinning", or apiKey and apiSecret']],
    [{ driver: 'pinning', apiKey: 'a' }, ['apiSecret: is required beside apiKey']],
    [{ driver: 'pinning', apiSecret: 'a' }, ['apiKey: is required beside apiSecret']],
    [
      { driver: 'pinning', jwt: 'a', apiKey: 'b', apiSecret: 'c' },
      ['jwt: expected either jwt, or apiKey and apiSecret; both are set'],
    ],
    [
      { jwt: 'a', apiKey: 'b' },
      [
        'jwt: is for the driver "pinning"; the driver is "local"',
        'apiKey: is for the driver "pinning"; the driver is "local"',
      ],
    ],
    [
      { driver: 'pinning', jwt: 'a\r\nb', gateway: 'ftp://x', cidProfile: 'v1', token: 'x' },
      [
        'token: unknown field',
        'jwt: expected up to 4096 letters, digits or signs, without spaces',
        'gateway: expected a URL without a path, such as https://ipfs.io',
        'cidProfile: expected "unixfs-v1-2025" or "unixfs-v0-2015"',
      ],
    ],
  ])('names each key of plugins.tasks.ipfs that is wrong: %j', async (ipfs, problems) => {
    expect((await problemsOf(ipfs)).sort()).toEqual(
      problems.map((problem) => `plugins.tasks.ipfs.${problem}`).sort(),
    );
  });

  it('knows the secrets of plugins', async () => {
    const slices = { tasks: { ipfs: { driver: 'pinning', apiKey: 'key of', apiSecret: 'a secret' } } };
    const config = await loadConfig({ MILLRACE_PLUGINS: JSON.stringify(slices) });
    const { plugins } = await importPlugins(config.plugins);
    const secrets = secretsOf(config, plugins);
    expect(concealed('pinning: key of, a secret', secrets)).toBe('pinning: ***, ***');
  });

  it.each([
    ['contract: 3,', []],
    [
      'contract: 1,',
      [
        'it was written for version 1 of the plugin contract, and this program has version 3; change it for version 3, or run an older Millrace',
      ],
    ],
    ["contract: '3',", ['contract: expected the number 3, not "3"']],
    [
      'contract: 4,',
      [
        'it was written for version 4 of the plugin contract, and this program has version 3; change it for version 3, or update Millrace',
      ],
    ],
    [
      '',
      [
        'it does not say which plugin contract it was written for; this program has version 3: write contract: 3 into it, and check it with millrace plugin check ',
      ],
    ],
  ])('takes a plugin from elsewhere with "%s" or says in one line why not', async (declares, problems) => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-plugin-'));
    const path = join(folder, 'captions.ts');
    await writeFile(path, `export default { id: 'captions', summary: 'captions', ${declares} };`);
    const found = await importPlugins({ [path]: true });
    expect(found.problems).toEqual(
      problems.map((problem) => expect.stringContaining(`plugins.${path}: ${problem}`)),
    );
    expect(found.plugins.some(({ plugin }) => plugin.id === 'captions')).toBe(problems.length === 0);
    await rm(folder, { recursive: true });
  });

  describe('a plugin from elsewhere that cannot be had', () => {
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'millrace-plugins-'));
      const write = (name: string, text: string) => writeFile(join(folder, name), text);
      await write('syntax.ts', "export default {\n  id: 'x' summary: 'y',\n};\n");
      await write('throws.ts', "\nconst url = new URL('nonsense');\nexport default { id: 'x', url };\n");
      await write('lacks.ts', "import { a } from 'not-installed-anywhere';\nexport default a;\n");
      await write('nothing.ts', 'throw null;\n');
      await write('captions.ts', "export default { id: 'captions', summary: 'captions', contract: 3 };\n");
      await mkdir(join(folder, 'in-folder'));
      await write('in-folder/index.ts', "export { default } from '../captions.ts';\n");
      await mkdir(join(folder, 'node_modules/@acme/captions'), { recursive: true });
      await write('node_modules/@acme/captions/package.json', '{"main": "main.ts"}');
      await write('node_modules/@acme/captions/main.ts', "export { default } from '../../../captions.ts';\n");
    });
    afterAll(() => rm(folder, { recursive: true }));
    const problemsOf = async (id: string) => (await importPlugins({ [id]: true }, folder)).problems;

    it.each([
      [
        './syntax.ts',
        /syntax\.ts could not be loaded: Expected "}" but found "summary" \(.*syntax\.ts:2:11\)$/,
      ],
      ['./throws.ts', /throws\.ts could not be loaded: .*\(at .*throws\.ts:2:\d+\)$/],
      ['./lacks.ts', /lacks\.ts could not be loaded: .*not-installed-anywhere/],
      ['./nothing.ts', /nothing\.ts could not be loaded: null$/],
    ])('%s: the error says which file, what, and where', async (id, problem) => {
      expect(await problemsOf(id)).toEqual([expect.stringMatching(problem)]);
      expect((await problemsOf(id))[0]).toContain(`plugins.${id}: ${folder}`);
    });

    it.each([
      './no-file.ts',
      'stream',
      'node:stream',
      'bun',
      'bun:sqlite',
      'ws',
      'fs/promises',
      '@acme/other',
      '',
    ])('"%s" is no plugin', async (id) => {
      expect(await problemsOf(id)).toEqual([expect.stringContaining('there is no such plugin or package')]);
    });

    it('an id that is nearly one of ours says which was meant, though Node has a module of that name', async () => {
      expect((await problemsOf('stream'))[0]).toMatch(/; did you mean streams\?$/);
    });

    it('a path that was written like a package is named', async () => {
      expect((await problemsOf('captions.ts'))[0]).toMatch(
        /; for the file or folder of this name write \.\/captions\.ts$/,
      );
    });

    it.each(['./captions.ts', './in-folder', '@acme/captions'])(
      '%s is found from the config file',
      async (id) => {
        const path = join(folder, 'config.json');
        await writeFile(path, JSON.stringify({ plugins: { [id]: true } }));
        const { config, folder: own } = await readConfig({ MILLRACE_CONFIG: path });
        const { plugins, problems } = await importPlugins(config.plugins, own);
        expect([problems, plugins.at(-1)?.plugin.id]).toEqual([[], 'captions']);
      },
    );

    it('a package of another version is named, and what to install', async () => {
      await mkdir(join(folder, 'node_modules/@acme/newer'), { recursive: true });
      const text = "export default { id: 'newer', summary: 'newer', contract: 4 };\n";
      await writeFile(join(folder, 'node_modules/@acme/newer/index.ts'), text);
      expect(await problemsOf('@acme/newer')).toEqual([
        'plugins.@acme/newer: it was written for version 4 of the plugin contract, and this program has version 3; install a release of @acme/newer for version 3, or update Millrace',
      ]);
      expect((await problemsOf('@acme/none'))[0]).toMatch(
        new RegExp(`; to install it: cd ${folder} && npm install @acme/none$`),
      );
    });

    it('two with one id are told apart by their files', async () => {
      const { plugins } = await importPlugins({ './captions.ts': true, './in-folder': true }, folder);
      expect(planOf(plugins).problems).toEqual([
        `plugin captions is declared twice: by captions (${folder}/captions.ts) and captions (${folder}/in-folder/index.ts)`,
      ]);
    });
  });

  it('loads the plugins that are on, and names one that does not exist', async () => {
    const config = await loadConfig({ MILLRACE_PLUGINS__WATCH: 'false' });
    const ids = (await enabledPlugins(config)).map(({ plugin }) => plugin.id);
    expect(ids).toContain('streams');
    expect(ids).not.toContain('watch');
    const unknown = await loadConfig({ MILLRACE_PLUGINS__STREEMS: 'true' });
    await expect(enabledPlugins(unknown)).rejects.toThrow('plugins.streems: there is no such plugin');
  });
});
