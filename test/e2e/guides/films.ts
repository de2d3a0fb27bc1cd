import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { engineFor } from '../../kit/engines.ts';
import type { PageRun } from './page-run.ts';
import { api, bundled, config, file, html, installs, json, onAir, type Step, sh, soon } from './steps.ts';

const s3 = await engineFor('s3');

/** Chooses the film on a page, as a visitor does. */
async function choosesFilm(page: Page, run: PageRun): Promise<void> {
  await page.setInputFiles('#file', join(run.folder, 'film.mp4'));
  await soon(
    'the film to be ready',
    async () =>
      (await page.textContent('#state')) === 'Ready' ||
      Promise.reject(new Error(String(await page.textContent('#state')))),
  );
}

/** Each address is good for one film: the next page gets one of its own. */
const withUpload = (step: Step): Step => ({
  languages: step.languages,
  async run(run, block) {
    const asked = await run.world.server.api.request('POST', '/api/asset/request-upload', {
      name: 'Holiday',
    });
    const { url, tusEndpoint } = (await asked.json()) as { url: string; tusEndpoint: string };
    const text = block.text.replace('TUS_ENDPOINT', tusEndpoint).replace('UPLOAD_URL', url);
    expect(text).not.toBe(block.text);
    await step.run(run, { ...block, text });
  },
});

const visitorsPage = '<input type="file" id="file"><p id="state"></p>';

/** A place that exports are sent to. */
function receiver(run: PageRun) {
  const got: { path: string; size: number; authorization: string | null }[] = [];
  const http = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1', maxRequestBodySize: 1e9 },
    async fetch(request) {
      const { byteLength } = await request.arrayBuffer();
      const { pathname } = new URL(request.url);
      got.push({ path: pathname, size: byteLength, authorization: request.headers.get('authorization') });
      return new Response('thanks');
    },
  });
  run.own({ [Symbol.asyncDispose]: () => http.stop(true) });
  run.replace('https://example.com', http.url.origin);
  return got;
}

let exported: ReturnType<typeof receiver> = [];
const filmSize = (run: PageRun) => statSync(run.world.film).size;

/** Steps of the pages about films. */
export const filmPages: Record<string, readonly Step[]> = {
  'recording.md': [
    sh({
      check: async (run) =>
        expect(await run.world.server.api.getStream(run.variable('STREAM_ID'))).toMatchObject({
          record: true,
        }),
    }),
    sh({ check: onAirBefore }),
    sh(),
    sh({
      check: async (run, printed) => {
        const [url] = /^http\S+$/m.exec(printed) ?? [];
        const playlist = await (await fetch(url ?? '')).text();
        expect(playlist).toContain('#EXTM3U');
        expect(statSync(join(run.folder, 'recording.mp4')).size).toBeGreaterThan(50_000);
      },
    }),
    config,
  ],
  'uploads-from-a-browser.md': [
    sh(),
    {
      languages: ['html'],
      run: (run, block) => {
        const text = block.text.replace('TUS_ENDPOINT', run.variable('TUS_ENDPOINT'));
        return html(choosesFilm).run(run, { ...block, text });
      },
    },
    installs,
    withUpload(bundled(visitorsPage, choosesFilm)),
    withUpload(html(choosesFilm)),
    withUpload(html(choosesFilm)),
    sh({
      check: (_, printed) =>
        expect(JSON.parse(printed)).toEqual({
          ...{ status: 'ready', playbackUrl: expect.stringContaining('/asset/') },
          videoSpec: { duration: expect.closeTo(12, 0) },
        }),
    }),
    sh({
      check: (_, printed) =>
        expect(JSON.parse(printed)).toEqual({
          name: 'Upload page',
          access: {
            rules: [{ resources: ['asset/request-upload'], methods: ['post'] }],
            cors: { allowedOrigins: ['https://studio.example.com'] },
          },
        }),
    }),
  ],
  'exports.md': [
    sh({
      check: async (run) =>
        expect(await api(run, `/api/asset/${run.variable('ASSET_ID')}`)).toMatchObject({ status: 'ready' }),
    }),
    file('presign.js'),
    sh({
      before: async (run) => {
        const { endpoint, region, bucket, accessKeyId, secretAccessKey } = await s3.shared();
        run.set('S3_ENDPOINT', endpoint);
        run.set('S3_REGION', region);
        run.set('S3_BUCKET', bucket);
        run.set('S3_ACCESS_KEY_ID', accessKeyId);
        run.set('S3_SECRET_ACCESS_KEY', secretAccessKey);
      },
      check: async (run) => {
        const { endpoint, region, bucket, accessKeyId, secretAccessKey } = await s3.shared();
        const client = new Bun.S3Client({ endpoint, region, bucket, accessKeyId, secretAccessKey });
        expect((await client.stat('films/film.mp4')).size).toBe(filmSize(run));
      },
    }),
    sh({
      before: (run) => {
        exported = receiver(run);
      },
      check: (run) =>
        expect(exported).toEqual([
          { path: '/films/film.mp4', size: filmSize(run), authorization: 'Bearer secret' },
        ]),
    }),
    sh({ check: () => expect(exported).toMatchObject([{}, { authorization: null }]) }),
    sh({
      check: (_, printed) =>
        expect(JSON.parse(printed)).toMatchObject({ videoFileCid: expect.stringMatching(/^baf/) }),
    }),
    json(({ left, world }, shown) => {
      const actual = JSON.parse(left.printed) as Record<string, string>;
      for (const [name, value] of Object.entries(shown as Record<string, string>))
        expect(actual[name]).toMatch(new RegExp(`^${value.replace('…', '\\w+')}$`));
      expect(actual.videoFileGatewayUrl).toContain(world.server.url);
    }),
  ],
  'multistream.md': [
    sh({
      check: async (run) => {
        const { multistream } = await api(run, `/api/stream/${run.variable('STREAM_ID')}`);
        expect(multistream.targets).toHaveLength(3);
      },
    }),
    sh({
      check: async (run) =>
        expect(await api(run, `/api/multistream/target/${run.variable('TARGET_ID')}`)).toMatchObject({
          ...{ name: 'Facebook', disabled: true },
        }),
    }),
    sh(),
    sh({
      during: async (run) => {
        await onAir(run);
        const second = () => run.world.server.api.getStream(run.variable('SECOND_ID'));
        await soon('the second stream', async () => (await second()).isActive);
      },
    }),
  ],
};

async function onAirBefore(run: PageRun): Promise<void> {
  expect(await run.world.server.api.listSessions(run.variable('STREAM_ID'))).toHaveLength(1);
}
