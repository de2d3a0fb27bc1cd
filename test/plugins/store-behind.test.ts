import { expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';
import { playables } from '../../plugins/playback/contract.ts';
import { recordingFields } from '../../plugins/recordings/derived-fields.ts';
import { statusOf } from '../../plugins/webhooks/log-entry.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';

const fault = (code: string) => () => Promise.reject(new Fault(code, { status: 503, message: code }));
const resources = (code: string) => ({ get: fault(code), find: fault(code) }) as never;

/** Rows are missing of which the store cannot say yet whether they exist. */
it('an object is shown without what is not known of it yet', async () => {
  expect(await statusOf('w', resources('store.behind'))).toEqual({});
  await expect(statusOf('w', resources('store.unreachable'))).rejects.toMatchObject({
    code: 'store.unreachable',
  });
  for (const shown of [{ parentId: 'p' }, {}]) {
    const of = (code: string) =>
      recordingFields.of({ id: 's', record: true, ...shown }, {
        kit: { resources: resources(code) },
      } as never);
    expect(await of('store.behind')).toBeUndefined();
    await expect(of('store.unreachable')).rejects.toMatchObject({ code: 'store.unreachable' });
  }
});

it('what one plugin does not know yet is played by another that has it', async () => {
  const late = definePlugin({
    id: 'late',
    contract: 3,
    summary: 'cannot say yet whether it has anything',
    offers: [offer(playables, () => ({ find: fault('store.behind') }))],
  });
  await using w = await world({ plugins: [late, ...(await allPlugins())] });
  const { id } = await w.given.stream({});
  const { body } = await w.request('GET', `/api/stream/${id}`);
  const path = (playbackId: string) => `/api/playback/${playbackId}`;
  expect(await w.request('GET', path(body.playbackId))).toMatchObject({
    status: 200,
    body: { type: 'live' },
  });
  expect(await w.request('GET', path('0123456789abcdef'))).toMatchObject({
    status: 503,
    body: { code: 'store.behind' },
  });
});
