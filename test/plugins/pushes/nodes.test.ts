import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../../core/plugin/plugin.ts';
import accounts from '../../../plugins/accounts/index.ts';
import multistream from '../../../plugins/multistream/index.ts';
import streams from '../../../plugins/streams/index.ts';
import { type Fleet, type FleetNode, fleet } from '../../kit/fleet.ts';
import { givenTarget, inShort, secretUrl, targetPath, targets } from './kit.ts';

const plugins = [accounts, streams, multistream] as unknown as readonly Plugin[];

/** One node with the actors and two that take broadcasts; one of those broadcasts to a target, which is connected. */
async function pushed(f: Fleet) {
  const a = await f.start('a', { roles: ['api', 'actors', 'worker'] });
  const m = await f.start('m', { roles: ['media'] });
  const n = await f.start('n', { roles: ['media'] });
  const target = await givenTarget(a);
  const body = { name: 'A', multistream: targets(target) };
  const { body: stream } = await a.request('POST', '/api/stream', { body });
  const { playbackId: id, streamKey } = stream;
  const onAir = async (node: FleetNode) => {
    const publish = await node.media.publish(streamKey);
    publish.playable();
    await f.advance('2s');
    return publish;
  };
  const publish = await onAir(m);
  m.pusher.connects(id);
  await f.settle();
  const told = async () => inShort(await f.events());
  const rows = () => f.store.resources.list('multistream-push', { limit: 9 });
  return { a, m, n, target, stream, id, onAir, publish, told, rows };
}

const died = ['error T: The server that pushed the broadcast has ended unexpectedly.', 'disconnected T'];

describe('pushes of several nodes', () => {
  it('are those of the node that takes the broadcast, and act on changes made at another', async () => {
    await using f = await fleet({ plugins });
    const { a, m, n, id, target, told } = await pushed(f);
    const [{ account: owner }] = await f.store.resources.list('multistream-target', { limit: 1 });
    expect(m.pusher.orders(id)).toEqual([
      { id: `${target}/source`, url: secretUrl, videoOnly: false, owner },
    ]);
    expect([a, n].map(({ pusher }) => pusher.wants)).toEqual([[], []]);
    await a.request('PATCH', `${targetPath}/${target}`, { body: { disabled: true } });
    await f.advance('2s');
    expect(m.pusher.orders(id)).toEqual([]);
    expect(await told()).toEqual(['connected T', 'disconnected T']);
  });

  it('go on at another that takes the broadcast over', async () => {
    await using f = await fleet({ plugins });
    const { m, n, id, onAir, told, rows } = await pushed(f);
    const second = await onAir(n);
    expect([m, n].map(({ pusher }) => pusher.orders(id).length)).toEqual([0, 1]);
    n.pusher.connects(id);
    await f.settle();
    expect(await told()).toEqual(['connected T', 'disconnected T', 'connected T']);
    second.end({ clean: true });
    await f.advance('7m');
    expect((await told()).slice(3)).toEqual(['disconnected T']);
    expect(await rows()).toEqual([]);
  });

  it('end at the one that lost the broadcast, also when it is not told, and what it says late changes nothing', async () => {
    await using f = await fleet({ plugins });
    const { m, n, id, onAir, told } = await pushed(f);
    // It hears of nothing: neither of the takeover nor of what its stream has become.
    m.cut();
    await onAir(n);
    n.pusher.connects(id);
    await f.settle();
    expect(await told()).toEqual(['connected T', 'disconnected T', 'connected T']);
    m.pusher.loses(id, 'closed', { message: 'Late.' });
    m.pusher.connects(id);
    m.mend();
    await f.advance('9s');
    expect(m.pusher.orders(id)).toEqual([]);
    expect(await told()).toEqual(['connected T', 'disconnected T', 'connected T']);
  });

  it('end at the one that lost the broadcast, also when it keeps its playlist', async () => {
    await using f = await fleet({ plugins });
    const { m, n, id, onAir, told } = await pushed(f);
    m.media.retire = () => {};
    await onAir(n);
    expect([m, n].map(({ pusher }) => pusher.orders(id).length)).toEqual([0, 1]);
    n.pusher.connects(id);
    await f.settle();
    expect(await told()).toEqual(['connected T', 'disconnected T', 'connected T']);
  });

  it('are told when the broadcast comes back to a node that never let go of its playlist', async () => {
    await using f = await fleet({ plugins });
    const { m, n, id, onAir, told } = await pushed(f);
    m.cut();
    const second = await onAir(n);
    n.pusher.connects(id);
    await f.settle();
    second.end({ clean: false });
    m.mend();
    await onAir(m);
    await f.advance('2s');
    expect([m, n].map(({ pusher }) => pusher.orders(id).length)).toEqual([1, 0]);
    const events = await told();
    expect(events.map((one) => one.split(' ')[0])).toEqual(
      events.map((_, index) => (index % 2 === 0 ? 'connected' : 'disconnected')),
    );
    expect(events).toHaveLength(5);
  });

  it('of a node that dies are told as an error and disconnected, and connected where they go on', async () => {
    await using f = await fleet({ plugins });
    const { m, n, id, onAir, told } = await pushed(f);
    await f.advance('4s');
    m.cut();
    await f.advance('16s');
    expect(await told()).toEqual(['connected T', ...died]);
    await onAir(n);
    n.pusher.connects(id);
    await f.settle();
    // Back from the dead it says nothing new.
    m.pusher.loses(id, 'closed', { message: 'Late.' });
    m.mend();
    m.pusher.connects(id);
    await f.advance('5s');
    expect(await told()).toEqual(['connected T', ...died, 'connected T']);
  });

  it('of a node that dies, and nobody goes on, end with the session without another word', async () => {
    await using f = await fleet({ plugins });
    const { m, told, rows } = await pushed(f);
    m.cut();
    await f.advance('10m');
    expect(await told()).toEqual(['connected T', ...died]);
    expect(await rows()).toEqual([]);
  });

  it('of a node that starts again under its name are told at once', async () => {
    await using f = await fleet({ plugins });
    const { m, told } = await pushed(f);
    m.cut();
    await f.start('m', { roles: ['media'] });
    await f.settle();
    expect(await told()).toEqual(['connected T', ...died]);
  });

  it('stay as they are while the actors do not answer, and are told when they do', async () => {
    await using f = await fleet({ plugins });
    const { a, m, id, told, target, stream } = await pushed(f);
    f.state.areActorsDown = true;
    m.pusher.loses(id, 'closed', { message: 'It left.' });
    await f.advance('10s');
    m.pusher.connects(id);
    await a.request('PATCH', `${targetPath}/${target}`, { body: { disabled: true } });
    await f.advance('2s');
    expect(m.pusher.orders(id)).toEqual([]);
    expect(await told()).toEqual(['connected T']);
    f.state.areActorsDown = false;
    await f.advance('6s');
    expect(await told()).toEqual([
      ...['connected T', 'error T: It left.', 'disconnected T', 'connected T', 'disconnected T'],
    ]);
    expect((await f.events()).at(-1)).toMatchObject({ stream: { id: stream.id } });
  });
});
