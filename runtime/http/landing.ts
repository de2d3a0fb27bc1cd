import { createHash } from 'node:crypto';
import { type AnyElysia, Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import { text } from '../../core/http/operation.ts';

/** What a visitor of `/` may go on to, by path. */
const known: Readonly<Record<string, string>> = {
  '/docs': 'API reference',
  '/openapi.json': 'OpenAPI document',
  '/health/ready': 'Readiness',
  '/metrics': 'Metrics',
};

/** `/` where no plugin has a page there: what this is, and links to those of `paths` that are of use. */
export function landingRoute({ paths }: { paths: ReadonlySet<string> }): AnyElysia {
  const links = Object.entries(known)
    .filter(([path]) => paths.has(path))
    .map(([path, title]) => `<li><a href="${path}">${title}</a> <code>${path}</code></li>`);
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Millrace</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Millrace</h1>
<p>A server for live and on-demand video. The dashboard is off on this server.</p>
<ul>
${links.join('\n')}
</ul>
</main>
</body>
</html>
`;
  const hash = createHash('sha256').update(style).digest('base64');
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  };
  return new Elysia().get(
    '/',
    () => new Response(page, { headers }),
    says('A page with links, where the dashboard is off.', {
      name: 'getLandingPage',
      isOpen: true,
      isOnEveryNode: true,
      answers: { 200: text(['text/html'], 'The page.') },
    }),
  );
}

const style = `
:root { color-scheme: light dark; font: 14px/1.45 system-ui, sans-serif; }
html { background: light-dark(#f9fafb, #0c1014); color: light-dark(#161c22, #e8edf1); }
a { color: light-dark(#006089, #56c0db); }
body { margin: 0; padding: 48px 24px; }
main { max-width: 560px; margin: 0 auto; }
h1 { font-size: 28px; font-weight: 650; margin: 0 0 8px; }
ul { padding: 0; margin: 24px 0 0; list-style: none; }
li { display: flex; justify-content: space-between; align-items: baseline; padding: 8px 0; border-top: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
code { font: 12px ui-monospace, monospace; opacity: 0.75; }
`;
