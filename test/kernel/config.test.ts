import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { enabledPlugins } from '../../config/plugins.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-config-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

describe('config', () => {
  it('has a default for everything', async () => {
    const config = await loadConfig({});
    expect(config).toMatchObject({ http: { port: 8080 }, rtmp: { port: 1935 }, dataDir: './data' });
  });

  it.each([
    ['c.json', '{"http": {"port": 81}, "plugins": {"streams": {"hold": "6s"}}}'],
    ['c.yaml', 'http:\n  port: 81\nplugins:\n  streams:\n    hold: 6s\n'],
    ['c.ts', 'export default { http: { port: 81 }, plugins: { streams: { hold: "6s" } } };'],
  ])('is read from %s, and the environment wins', async (name, text) => {
    const path = await file(name, text);
    const config = await loadConfig({
      MILLRACE_CONFIG: path,
      MILLRACE_HTTP__HOST: '127.0.0.1',
      MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '20s',
      MILLRACE_BOOTSTRAP_KEY: '1234567890123456',
      MILLRACE_PLUGINS__WATCH: 'false',
    });
    expect(config.http).toEqual({ port: 81, host: '127.0.0.1' });
    expect(config.plugins).toEqual({ streams: { hold: '6s', reconnectWindow: '20s' }, watch: false });
    expect(config.bootstrapKey).toBe('1234567890123456');
  });

  it('names every problem at once', async () => {
    const problem = loadConfig({
      MILLRACE_HTTP__PORT: 'eighty',
      MILLRACE_NODE__TIMEOUT: 'soon',
      MILLRACE_COLOUR: 'red',
    });
    await expect(problem).rejects.toMatchObject({
      code: 'config.invalid',
      problems: [
        expect.stringMatching(/^colour: unknown field/),
        expect.stringMatching(/^http\.port: expected/),
        expect.stringMatching(/^node\.timeout: expected/),
      ],
    });
  });

  it('refuses a file that is not there or not an object, naming it', async () => {
    await expect(loadConfig({ MILLRACE_CONFIG: '/nowhere.json' })).rejects.toThrow('/nowhere.json');
    const path = await file('list.json', '[]');
    await expect(loadConfig({ MILLRACE_CONFIG: path })).rejects.toThrow('expected an object');
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
