import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Role } from '../../core/plugin/nodes.ts';
import { issueTexts } from '../../plugins/health/judge.ts';
import type { Booted } from '../../runtime/boot/boot.ts';
import { welcome } from '../../runtime/boot/welcome.ts';

const said = (
  roles: readonly Role[],
  { isCheckout = true, link, plugins = [] }: { isCheckout?: boolean; link?: string; plugins?: string[] } = {},
) =>
  welcome({
    booted: {
      plan: plugins.map((id) => ({ plugin: { id, summary: '' } })),
      lines: () => [],
    } as unknown as Booted,
    config: { dataDir: '/data', rtmp: { port: 1935 }, outbound: {}, roles },
    publicUrl: 'http://video.example.com',
    key: undefined,
    link,
    isCheckout,
    took: 1,
  });

it('says what to do next where everything is done here', () => {
  const text = said(['api', 'media', 'actors', 'worker']);
  expect(text).toMatch(/1\. Create.*2\. Broadcast.*rtmp:\/\/video\.example\.com:1935\/live.*3\. Watch/s);
  expect(text).not.toContain('Roles');
});

it('recommends the demo only in a checkout, which has one', () => {
  const roles: readonly Role[] = ['api', 'media', 'actors', 'worker'];
  expect(said(roles)).toContain(
    '3. Watch it at http://video.example.com/watch/<playbackId>. Or let "npm run demo"',
  );
  expect(said(roles, { isCheckout: false })).toMatch(/3\. Watch it at \S+<playbackId>\.\n/);
});

it('recommends the key-frame interval that the health check recommends', () => {
  for (const text of [issueTexts.keyFrames, issueTexts.noKeyFrame]) expect(text).toContain('2 s');
  const guide = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');
  expect(said(['api', 'media', 'actors', 'worker']).replace(/\s+/g, ' ')).toMatch(
    /[Kk]ey frame every 2 s: in OBS .*Keyframe Interval.*ffmpeg.*-g.*keyint/,
  );
  expect(guide('api.md')).toContain('Send a key frame every 2 s');
  expect(guide('guides/obs.md')).toMatch(/Keyframe Interval \| 2 s/);
  expect(guide('guides/ffmpeg.md')).toMatch(/-g 60 .* which is 2 s at 30 frames/);
});

it('names no address at which this node does not answer', () => {
  expect(said(['api', 'actors'])).not.toContain('rtmp://');
  expect(said(['api', 'actors'])).toContain('/api');
  const media = said(['media']);
  expect(media).toContain('rtmp://video.example.com:1935/live');
  expect(media).not.toMatch(/\/api|API key/);
  expect(media).toContain('Roles     media');
});

it('links to the dashboard where there is one, and signs in where it may', () => {
  const plugins = ['dashboard'];
  expect(said(['api'])).not.toContain('Dashboard');
  expect(said(['media'], { plugins })).not.toContain('Dashboard');
  expect(said(['api'], { plugins })).toContain('  Dashboard http://video.example.com/\n');
  const link = 'http://127.0.0.1:8080/#sign-in=x';
  expect(said(['api'], { plugins, link })).toContain(`  Dashboard ${link}  (signs you in, once,`);
});
