import { join } from 'node:path';
import { root } from './server.ts';

/** A page of another origin that plays a playlist with plain hls.js and nothing that helps it, for `openViewer`. */
export interface HlsPage extends AsyncDisposable {
  url(playlist: string, options?: { config?: HlsConfig }): string;
}

/** How a page may set up hls.js. */
export type HlsConfig = keyof typeof hlsConfigs;

const forEver = {
  maxNumRetry: Number.MAX_SAFE_INTEGER,
  retryDelayMs: 500,
  maxRetryDelayMs: 2000,
};
const patient = {
  default: {
    maxTimeToFirstByteMs: 12_000,
    maxLoadTimeMs: 20_000,
    timeoutRetry: forEver,
    errorRetry: forEver,
  },
};
export const hlsConfigs = {
  default: {},
  /** As the watch page has it, whose script does the rest. */
  watch: {
    lowLatencyMode: true,
    maxLiveSyncPlaybackRate: 1,
    liveSyncOnStallIncrease: 0,
    backBufferLength: 20,
    maxBufferLength: 20,
    maxMaxBufferLength: 30,
    playlistLoadPolicy: patient,
    fragLoadPolicy: patient,
  },
  /** As pages have it that keep near to live by playing faster. */
  lowLatency: { lowLatencyMode: true, maxLiveSyncPlaybackRate: 1.5, backBufferLength: 30 },
  /** Whole segments only. */
  segments: { lowLatencyMode: false },
} as const;

/** A numbered picture that came on show in the page. */
export interface Shown {
  /** Epoch ms, to a tenth of a second. */
  readonly at: number;
  /** The number painted into it. */
  readonly number: number;
}

export function hlsPage(): HlsPage {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch({ url }) {
      const { pathname, searchParams } = new URL(url);
      if (pathname === '/hls.js')
        return new Response(Bun.file(join(root, 'node_modules/hls.js/dist/hls.min.js')));
      if (pathname === '/frame-number.js') {
        const source = await Bun.file(join(root, 'test/kit/frame-number.ts')).text();
        const script = new Bun.Transpiler({ loader: 'ts' }).transformSync(source);
        return new Response(script, { headers: { 'content-type': 'text/javascript' } });
      }
      if (pathname === '/favicon.ico') return new Response(null, { status: 204 });
      const config = hlsConfigs[(searchParams.get('config') ?? 'default') as HlsConfig];
      return new Response(html(config), { headers: { 'content-type': 'text/html' } });
    },
  });
  return {
    url: (playlist, { config = 'default' } = {}) =>
      `${server.url}?${new URLSearchParams({ playlist, config })}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** `millrace.shown`: pictures that came on show, looked at ten times a second. */
const html = (config: object) => `<!doctype html><meta charset="utf-8">
<video muted autoplay crossorigin width="320"></video><script src="/hls.js"></script>
<script type="module">
import { readFrameNumber } from '/frame-number.js';
const video = document.querySelector('video');
const millrace = (window.millrace = { fatalErrors: 0, log: [], shown: [] });
const hls = (millrace.hls = new Hls(${JSON.stringify(config)}));
hls.on(Hls.Events.ERROR, (_, { fatal, details, reason, error }) => {
  if (fatal) millrace.fatalErrors += 1;
  millrace.log.push(Date.now() + (fatal ? ' fatal ' : ' ') + details + ' ' + (reason ?? error?.message ?? ''));
});
hls.loadSource(new URLSearchParams(location.search).get('playlist'));
hls.attachMedia(video);
const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 180 });
const context = canvas.getContext('2d', { willReadFrequently: true });
setInterval(() => {
  if (!video.videoWidth) return;
  context.drawImage(video, 0, 0, canvas.width, canvas.height);
  const number = readFrameNumber(context.getImageData(0, 0, canvas.width, canvas.height));
  if (number !== null && number !== millrace.shown.at(-1)?.number) millrace.shown.push({ at: Date.now(), number });
}, 100);
</script>`;
