import { join } from 'node:path';
import { root } from './server.ts';

/** A page of another origin that plays a playlist with plain hls.js, for `openViewer`. */
export interface HlsPage extends AsyncDisposable {
  url(playlist: string): string;
}

export function hlsPage(): HlsPage {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch({ url }) {
      const { pathname } = new URL(url);
      if (pathname === '/hls.js')
        return new Response(Bun.file(join(root, 'node_modules/hls.js/dist/hls.min.js')));
      if (pathname === '/favicon.ico') return new Response(null, { status: 204 });
      return new Response(html, { headers: { 'content-type': 'text/html' } });
    },
  });
  return {
    url: (playlist) => `${server.url}?${new URLSearchParams({ playlist })}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

const html = `<!doctype html><meta charset="utf-8"><video muted autoplay width="640"></video><script src="/hls.js"></script>
<script>
const millrace = (window.millrace = { fatalErrors: 0, log: [] });
const hls = new Hls();
hls.on(Hls.Events.ERROR, (_, { fatal, details, reason }) => {
  if (fatal) millrace.fatalErrors += 1;
  millrace.log.push((fatal ? 'fatal ' : '') + details + ' ' + (reason ?? ''));
});
hls.loadSource(new URLSearchParams(location.search).get('playlist'));
hls.attachMedia(document.querySelector('video'));
</script>`;
