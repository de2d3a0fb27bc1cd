import { definePlugin, type Plugin } from 'millrace/plugin';
import { expect, it } from 'vitest';
import { fleet } from '../../kit/fleet.ts';
import { created, onAir, plugins, three } from '../fleet/kit.ts';

it('the node that a viewer asks decides, and it alone', async () => {
  const asked: string[] = [];
  const gate = definePlugin({
    id: 'gate',
    summary: 'lets in whoever has a token',
    decides: {
      play({ token, file }, { deployment }) {
        asked.push(`${deployment.node.id} ${file}`);
        return token === 'paid' ? undefined : { refuse: 'No.' };
      },
    },
  }) as Plugin;
  await using f = await fleet({ plugins: [...plugins, gate] });
  const { a, m, n } = await three(f);
  const stream = await created(a);
  await onAir(f, m, stream);
  let served = 0;
  m.media.serve = () => {
    served += 1;
    return { type: 'media', body: new Blob(['part']), size: 4 };
  };
  const part = 'abcdef012345_part7.1.mp4';
  const view = async (query: string) => {
    const request = new Request(`http://localhost:8080/hls/${stream.playbackId}/${part}${query}`);
    const answer = await n.booted.app.handle(request);
    return [answer.status, answer.headers.get('cache-control'), await answer.text()];
  };
  expect((await view('')).slice(0, 2)).toEqual([403, 'no-store']);
  expect(served).toBe(0);
  const kept = 'private, max-age=3600, immutable';
  expect(await view('?token=paid')).toEqual([200, kept, 'part']);
  // From the memory of this node: it is asked about all the same.
  expect((await view(''))[0]).toBe(403);
  expect(await view('?token=paid')).toEqual([200, kept, 'part']);
  expect(served).toBe(1);
  expect(asked).toEqual(Array.from({ length: 4 }, () => `n ${part}`));
});
