import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { contractVersion } from '../../core/plugin/plugin.ts';
import { millrace } from './printed.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-commands-'));
  vi.stubEnv('MILLRACE_KEY', 'a-key');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

let count = 0;
/** A config with a plugin that has this command. */
async function configWith(command: string, config = '{}'): Promise<string> {
  // A module is loaded once.
  count += 1;
  const [plugin, file] = [join(folder, `plugin-${count}.ts`), join(folder, `${count}.yaml`)];
  await writeFile(
    plugin,
    `import { commands, definePlugin, object, offer, Type } from 'millrace/plugin';
export default definePlugin({
  id: 'acme', summary: 'has a command', contract: ${contractVersion},
  config: object({ word: Type.String({ default: 'said' }) }),
  offers: [offer(commands, ({ config }) => (${command}))],
});\n`,
  );
  await writeFile(file, `plugins:\n  ${plugin}: ${config}\n`);
  return file;
}

const echo = `{
  name: 'echo',
  summary: 'Says what it was given.',
  args: object({
    text: Type.String({ description: 'what it says' }),
    times: Type.Integer({ minimum: 1, default: 2, description: 'how often' }),
    loud: Type.Boolean(),
    also: Type.Optional(Type.Array(Type.Number())),
  }),
  async run({ args, write }) {
    write(config.word + ' ' + JSON.stringify(args));
    return args.loud ? 3 : undefined;
  },
}`;

describe('a command of a plugin', () => {
  it('runs with its arguments as its schema has them, and with the config of its plugin', async () => {
    const config = await configWith(echo, '{ word: heard }');
    expect(await millrace('echo', '--config', config, '--text', '1')).toEqual({
      ...{ code: 0, error: '' },
      out: 'heard {"text":"1","loud":false,"times":2}\n',
    });
    const words = ['--text=a b', '--times', '5', '--loud', '--also', '1.5', '--also', '2'];
    expect(await millrace('echo', `--config=${config}`, ...words)).toEqual({
      ...{ code: 3, error: '' },
      out: 'heard {"text":"a b","times":5,"loud":true,"also":[1.5,2]}\n',
    });
  });

  it('is in the help beside ours, where the environment names the config', async () => {
    vi.stubEnv('MILLRACE_CONFIG', await configWith(echo));
    expect((await millrace('help')).out).toMatch(/^ {2}echo +says what it was given$/m);
    const { code, out } = await millrace('help', 'echo');
    expect([code, out]).toEqual([
      0,
      expect.stringContaining('Usage: millrace echo --text TEXT [--times N] [--loud] [--also N]…\n'),
    ]);
    expect(out).toMatch(/^ {2}--text TEXT +what it says$/m);
    expect(out).toContain('From plugin acme.');
    expect(await millrace('ecoh')).toMatchObject({
      ...{ code: 2, error: 'millrace: there is no command ecoh; did you mean echo?\n' },
    });
    vi.stubEnv('MILLRACE_CONFIG', undefined);
  });

  it.each([
    [['--times', '2'], /--text: /],
    [['--text', 'x', '--times', 'often'], /--times: expected integer/],
    [['--text', 'x', '--times', '0'], /--times: /],
    [['--text', 'x', '--volume', '3'], /Unknown option '--volume'/],
    [['x'], /an argument too many: x/],
  ])('refuses %j', async (words, said) => {
    const { code, out, error } = await millrace('echo', '--config', await configWith(echo), ...words);
    expect([code, out]).toEqual([2, '']);
    expect(error).toMatch(said);
  });

  it.each([
    [
      'a name that is none',
      echo.replace("'echo'", "'Echo'"),
      /command of plugin acme cannot be used: .*kebab-case/,
    ],
    ['an option of ours', echo.replace('text:', 'server:'), /has an option --server of its own/],
    [
      'what cannot be made',
      '(() => { throw new Error("no luck"); })()',
      /plugin acme cannot be used: no luck/,
    ],
  ])('is refused for %s', async (_, command, said) => {
    const { code, error } = await millrace('echo', '--config', await configWith(command));
    expect([code, error]).toEqual([78, expect.stringMatching(said)]);
  });

  it('cannot be found in a config that is wrong, which is told', async () => {
    const { code, error } = await millrace('echo', '--config', await configWith(echo, '{ wrod: x }'));
    expect([code, error]).toEqual([78, expect.stringContaining('plugins.acme.wrod: unknown field')]);
    const missing = await millrace('echo', '--config', join(folder, 'none.yaml'));
    expect([missing.code, missing.error]).toEqual([78, expect.stringContaining('none.yaml')]);
  });
});
