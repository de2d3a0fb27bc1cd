import { describe, expect, it } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();
const home = async (w: World) => {
  const answer = await w.app.handle(new Request('http://localhost:8080/'));
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};
const linksIn = (text: string) => [...text.matchAll(/href="([^"]+)"/g)].map(([, path]) => path);

describe('the page at /', () => {
  it('is the dashboard', async () => {
    await using w = await world({ plugins });
    const { status, text } = await home(w);
    expect([status, text.includes('id="app"')]).toEqual([200, true]);
  });

  it('says what this is where the dashboard is off, and links to what is on', async () => {
    await using w = await world({ plugins: plugins.filter(({ id }) => id !== 'dashboard') });
    const { status, headers, text } = await home(w);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(text).toContain('<h1>Millrace</h1>');
    expect(linksIn(text)).toEqual(['/docs', '/openapi.json', '/health/ready', '/metrics']);
    for (const path of linksIn(text)) {
      const answer = await w.app.handle(new Request(`http://localhost:8080${path}`));
      expect([path, answer.status]).toEqual([path, 200]);
    }
  });

  it('links to no reference that is off, and is there on nodes without the API', async () => {
    const off = new Set(['dashboard', 'docs']);
    await using w = await world({
      plugins: plugins.filter(({ id }) => !off.has(id)),
      roles: ['media', 'actors'],
    });
    const { status, text } = await home(w);
    expect([status, linksIn(text)]).toEqual([200, ['/health/ready', '/metrics']]);
  });
});
