/** Every block of the guides, of README, and of the pages about the command line and the dashboard, run as a reader does it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksIn } from '../../docs/code-blocks.ts';
import { broadcast } from '../harness/ffmpeg.ts';
import { root } from '../harness/server.ts';
import { canRun, commandsOfGoLive, runCommand } from './commands.ts';
import { encoderPages } from './encoders.ts';
import { filmPages } from './films.ts';
import { hookPages } from './hooks.ts';
import { type PageRun, pageRun } from './page-run.ts';
import { otherPages, placePages } from './places.ts';
import { playerPages } from './players.ts';
import { onAir, type Step, sampleId, sh } from './steps.ts';
import { openWorld, type World } from './world.ts';

const folder = 'docs/guides';
const index = join(folder, 'README.md');
/** Sets the variables that all guides use. */
const variables: readonly Step[] = [
  sh({ check: (run) => expect(run.variable('MILLRACE_KEY')).toBe(run.world.server.key) }),
  sh({ check: (run) => expect(run.variable('INGEST_URL')).toContain(`:${run.world.server.rtmpPort}/live/`) }),
];
const guides: Record<string, readonly Step[]> = {
  'README.md': variables,
  ...{ ...encoderPages, ...playerPages, ...filmPages, ...hookPages, ...placePages },
};
const pages = [
  ...Object.keys(otherPages),
  ...readdirSync(join(root, folder)).map((name) => join(folder, name)),
];

let world: World;
beforeAll(async () => {
  world = await openWorld();
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

test('no page is without steps, and no step without its page', () => {
  expect(Object.keys(guides).toSorted()).toEqual(readdirSync(join(root, folder)).toSorted());
});

test.concurrent.each(pages)(
  '%s',
  async (page) => {
    await using run = pageRun(world);
    const name = page.startsWith(folder) ? page.slice(folder.length + 1) : undefined;
    if (name !== undefined && page !== index) await runPage(run, index, variables);
    if (name !== undefined && page !== index) run.replace(sampleId, run.variable('PLAYBACK_ID'));
    if (name !== undefined && (playerPages[name] || name === 'cdn.md')) {
      run.own(broadcast(run.variable('INGEST_URL'), { clip: world.clip }));
      await onAir(run);
    }
    await runPage(run, page, (name === undefined ? otherPages[page] : guides[name]) ?? []);
  },
  480_000,
);

test.concurrent.each(commandsOfGoLive.filter(canRun))(
  'the command of Go live for $id',
  async (encoder) => {
    await using run = pageRun(world);
    await runPage(run, index, variables);
    await runCommand(run, encoder);
  },
  480_000,
);

/** A block that no step runs is a failure, but for those that are marked as `text`. */
async function runPage(run: PageRun, page: string, steps: readonly Step[]): Promise<void> {
  const all = blocksIn(page, readFileSync(join(root, page), 'utf8'));
  const blocks = all.filter(({ language }) => language !== 'text');
  expect(blocks.map(({ line, language }) => [line, language])).toHaveLength(steps.length);
  for (const [at, block] of blocks.entries()) {
    const step = steps[at] as Step;
    const where = `${page}:${block.line}`;
    expect(step.languages, where).toContain(block.language);
    await step.run(run, block).catch((error: unknown) => {
      throw new Error(`${where}: ${error instanceof Error ? error.message : error}`, { cause: error });
    });
  }
}
