import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { configSchema } from '../../../config/schema.ts';
import { settingsOf } from '../../../core/plugin/settings.ts';
import type { CodeBlock } from '../../docs/code-blocks.ts';
import { root } from '../harness/server.ts';
import { until } from '../harness/wait.ts';
import type { Commands, PageRun } from './page-run.ts';
import { openTab, patience } from './site.ts';

/** How one block of a page is run, and what it must have done then. */
export interface Step {
  readonly languages: readonly string[];
  run(run: PageRun, block: CodeBlock): Promise<void>;
}

/** Waits for something that a reader sees within seconds, also on a busy machine. */
export const soon = <T>(what: string, probe: () => T | Promise<T>) =>
  until(what, probe as () => Promise<T>, { within: patience, every: 100 });

interface Shell {
  /** Prepares what the commands find. */
  readonly before?: (run: PageRun) => unknown;
  /** What a person types. */
  readonly input?: (run: PageRun) => string;
  /** Sees what it printed, and what it did, after it has ended. */
  readonly check?: (run: PageRun, printed: string) => unknown;
  /** It goes on by itself: this waits for what it does, then it is interrupted. */
  readonly during?: (run: PageRun, commands: Commands) => unknown;
  /** It goes on while the next blocks run. This waits for its beginning. */
  readonly beside?: (run: PageRun, commands: Commands) => unknown;
}

/** Commands of a shell. They have to succeed, unless they go on by themselves. */
export const sh = ({ before, input, check, during, beside }: Shell = {}): Step => ({
  languages: ['sh'],
  async run(run, block) {
    await before?.(run);
    const commands = run.start(block, input?.(run));
    const wait = during ?? beside;
    if (wait) {
      await Promise.race([
        wait(run, commands),
        commands.ended.then((code) => {
          throw new Error(`it ended with ${code} before`);
        }),
      ]).catch((error) => fail(error, commands));
      if (during) await commands.interrupt();
      else run.left.beside.push(commands);
      return;
    }
    const code = await commands.ended;
    if (code !== 0) throw new Error(`it ended with ${code} and printed:\n${commands.printed}`);
    run.left.printed = commands.output;
    try {
      await check?.(run, commands.output);
    } catch (error) {
      fail(error, commands);
    }
  },
});

function fail(error: unknown, { printed }: Commands): never {
  throw new Error(`${error instanceof Error ? error.message : error}; it printed:\n${printed}`);
}

/** A file that later blocks use. Where its language has comments, the first line names it. */
export const file = (name: string, check?: (run: PageRun, block: CodeBlock) => unknown): Step => ({
  languages: ['js', 'python', 'go', 'php', 'nginx'],
  async run(run, block) {
    if (check) await check(run, block);
    else expect(block.text.split('\n')[0]).toMatch(new RegExp(`^(//|#) ${name}$`));
    run.write(name, run.here(block.text));
  },
});

/** A page, or the part of one that a reader puts into theirs. `film`: the id in it is that of an asset. */
export const html = (check: (page: Page, run: PageRun) => unknown, { id = 'PLAYBACK_ID' } = {}): Step => ({
  languages: ['html'],
  async run(run, block) {
    const text = run.here(block.text.replaceAll(sampleId, run.variable(id)));
    run.left.html = text;
    await visit(run, text, check);
  },
});

/** A script for the page of the block before. */
export const script = (check: (page: Page, run: PageRun) => unknown): Step => ({
  languages: ['js'],
  run: (run, block) =>
    visit(run, `${run.left.html}<script type="module">${run.here(block.text)}</script>`, check),
});

/** Two at a time: more players than cores show no picture on a busy machine. */
const turns = [Promise.resolve(), Promise.resolve()];

async function visit(run: PageRun, text: string, check: (page: Page, run: PageRun) => unknown) {
  const turn = turns.shift() as Promise<void>;
  const visited = turn.then(async () => {
    await using tab = await openTab(run.world.browser, run.world.site.publish(text));
    await check(tab.page, run);
    expect(tab.complaints).toEqual([]);
  });
  turns.push(visited.catch(() => {}));
  await visited;
}

export const sampleId = '6pukxh2m0ydr9h3q';

/** A page that plays has shown this many pictures. */
export const plays =
  (pictures = 10) =>
  async (page: Page) => {
    await soon('a picture that moves', async () => {
      // Of the page, or of a frame in it.
      const seen = await Promise.all(
        page.frames().map((frame) =>
          frame.evaluate(() => {
            const video = document.querySelector('video');
            return {
              pictures: video?.getVideoPlaybackQuality().totalVideoFrames ?? 0,
              error: video?.error?.message,
            };
          }),
        ),
      );
      if (!seen.some((one) => one.pictures >= pictures)) throw new Error(JSON.stringify(seen));
      return true;
    });
  };

/** A script that a bundler takes, in a page with this body. */
export const bundled = (body: string, check: (page: Page, run: PageRun) => unknown): Step => ({
  languages: ['js'],
  async run(run, block) {
    const entry = join(run.folder, 'app.js');
    run.write('app.js', run.here(block.text));
    const built = await Bun.build({ entrypoints: [entry], target: 'browser', root: run.folder });
    const src = run.world.site.publishScript((await built.outputs[0]?.text()) ?? '');
    await visit(run, `${body}<script type="module" src="${src}"></script>`, check);
  },
});

/** A part of the config. */
export const config: Step = {
  languages: ['yaml'],
  async run(run, { text }) {
    const given = parseYaml(run.here(text)) as Record<string, unknown>;
    expect(settingsOf(configSchema, { given, whole: 'config' }).problems).toEqual([]);
  },
};

/** Data as the API answers it. */
export const json = (check: (run: PageRun, shown: unknown) => unknown): Step => ({
  languages: ['json'],
  async run(run, { text }) {
    await check(run, JSON.parse(run.here(text)));
  },
});

/** A block that another test runs. It has these words, and that test has those. */
export const runBy = (test: string, { words, inTest = words }: { words: string; inTest?: string }): Step => ({
  languages: ['sh', 'ini'],
  async run(_, block) {
    expect(block.text).toContain(words);
    expect(existsSync(join(root, test)), test).toBe(true);
    expect(readFileSync(join(root, test), 'utf8'), test).toContain(inTest);
  },
});

/** `npm install`, of what this test has in its own node_modules. */
export const installs: Step = {
  languages: ['sh'],
  async run(_, block) {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const [, names = ''] = /^npm install (.+)$/m.exec(block.text) ?? [];
    expect(names.split(' ').filter((name) => !(dependencies[name] ?? devDependencies[name]))).toEqual([]);
  },
};

/** An encoder sends, until the stream of the page is on the air by it. */
export const broadcasts = (more: (run: PageRun) => unknown = () => {}): Step =>
  sh({
    // What an earlier block has sent is over.
    before: async (run) => {
      await run.world.server.api.request('DELETE', `/api/stream/${run.variable('STREAM_ID')}/terminate`);
    },
    during: async (run) => {
      await onAir(run);
      await more(run);
    },
  });

/** Until the stream of the page is on the air. */
export const onAir = (run: PageRun) =>
  soon(
    'the stream on the air',
    async () => (await run.world.server.api.getStream(run.variable('STREAM_ID'))).isActive,
  );

// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
export async function api(run: PageRun, path: string): Promise<any> {
  const answer = await run.world.server.api.request('GET', path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
