import { describe, expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import type { Plugin } from '../../../core/plugin/plugin.ts';
import accounts from '../../../plugins/accounts/index.ts';
import tasks from '../../../plugins/tasks/index.ts';
import { attempts } from '../../../plugins/tasks/run.ts';
import type { ScriptedWork } from '../../kit/task-maker.ts';
import { office } from './kit.ts';

describe('a task that the server works at', () => {
  it('waits for its turn, runs, and is completed with what came of it', async () => {
    const { w, maker, spawn, shown, events, account } = await office();
    await using _ = w;
    await spawn('t1', { params: { url: 'https://example.com' }, secret: { jwt: 'x' }, outputAssetId: 'a1' });
    expect(maker.works).toHaveLength(1);
    const { finish: _f, fail: _e, progress: _p, signal, ...work } = maker.last();
    expect(signal.aborted).toBe(false);
    expect(work).toEqual({
      ...{ id: 't1', account, name: 'Task t1', phase: 'running', inputAssetId: null, outputAssetId: 'a1' },
      ...{ params: { url: 'https://example.com' }, secret: { jwt: 'x' }, attempt: 1 },
    });
    expect((await shown('t1')).status).toMatchObject({ phase: 'running', progress: 0 });
    maker.last().finish({ outcome: 'done', output: { size: 7 } });
    await w.settle();
    expect(await shown('t1')).toMatchObject({
      ...{ output: { import: { size: 7 } }, status: { phase: 'completed', progress: 1 } },
    });
    expect(await events('t1')).toEqual([
      ...['task.spawned pending', 'task.updated waiting', 'task.updated running', 'task.completed completed'],
    ]);
  });

  it('is tried again after trouble, later each time, and then says what it was', async () => {
    const { w, maker, spawn, shown } = await office();
    await using _ = w;
    await spawn('t1');
    const begun = [w.now()];
    for (let attempt = 1; attempt < attempts; attempt += 1) {
      maker.last().fail(new Fault('x.y', { status: 503, message: 'The host hung up.' }));
      await w.settle();
      // Minutes may pass: whoever looks learns what the server waits for.
      expect((await shown('t1')).status).toMatchObject({
        ...{ phase: 'waiting', errorMessage: 'The host hung up.' },
      });
      while (maker.works.length === attempt) await w.advance('1s');
      begun.push(w.now());
      expect(maker.last().attempt).toBe(attempt + 1);
      const { status } = await shown('t1');
      expect([status.phase, status.errorMessage]).toEqual(['running', undefined]);
    }
    const waits = begun.slice(1).map((at, index) => at - (begun[index] ?? 0));
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    maker.last().fail(new Fault('x.y', { status: 503, message: 'The host hung up.' }));
    await w.settle();
    const { status } = await shown('t1');
    expect(status).toMatchObject({
      phase: 'failed',
      errorMessage: 'Failed after 8 attempts. The last error: The host hung up.',
    });
  });

  it.each<[string, (work: ScriptedWork) => void, string]>([
    ['an outcome', (work) => work.finish({ outcome: 'failed', message: 'It is no film.' }), 'It is no film.'],
    [
      'a Fault that is not to be tried again',
      (work) => work.fail(new Fault('x.y', { status: 401, message: 'The key is wrong.', retry: false })),
      'The key is wrong.',
    ],
  ])('fails at once by %s', async (_, end, errorMessage) => {
    const { w, maker, spawn, shown, events } = await office();
    await using _w = w;
    await spawn('t1');
    end(maker.last());
    await w.settle();
    expect((await shown('t1')).status).toMatchObject({ phase: 'failed', errorMessage });
    expect((await events('t1')).slice(-2)).toEqual(['task.updated running', 'task.failed failed']);
    await w.advance('10m');
    expect(maker.works).toHaveLength(1);
  });

  it('that is cancelled between two tries does not say what the last one met', async () => {
    const { w, maker, spawn, shown } = await office();
    await using _ = w;
    await spawn('t1');
    maker.last().fail(new TypeError('undefined is not a function'));
    await w.settle();
    expect((await shown('t1')).status.errorMessage).toBe('The server had an internal error.');
    await w.request('POST', '/api/task/t1/cancel');
    const { status } = await shown('t1');
    expect([status.phase, status.errorMessage]).toEqual(['cancelled', undefined]);
  });

  it('says of trouble of the server no more than that', async () => {
    const { w, maker, spawn, shown } = await office();
    await using _ = w;
    await spawn('t1');
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      while (maker.works.length < attempt) await w.advance('1s');
      maker.last().fail(new TypeError('undefined is not a function'));
      await w.settle();
    }
    const { errorMessage } = (await shown('t1')).status;
    expect(errorMessage).toBe('Failed after 8 attempts. The last error: The server had an internal error.');
    // Whoever runs the server finds the rest.
    expect(w.lines.filter((line) => line.includes('TypeError: undefined is not a function'))).toHaveLength(8);
  });

  it('fails when it takes longer than it may, each time', async () => {
    const { w, maker, spawn, shown } = await office({ config: { tasks: { timeLimit: '1m' } } });
    await using _ = w;
    await spawn('t1');
    await w.advance('61s');
    expect(maker.last().signal.aborted).toBe(true);
    expect((await shown('t1')).status.phase).toBe('waiting');
    await w.advance('15m');
    expect((await shown('t1')).status).toMatchObject({
      ...{
        phase: 'failed',
        errorMessage: 'Failed after 8 attempts. The last error: The time limit was reached.',
      },
    });
  });

  it('tells its progress at most every 2 s, and never goes back but with another try', async () => {
    const { w, maker, spawn, shown } = await office();
    await using _ = w;
    await spawn('t1');
    const progress = async () => (await shown('t1')).status.progress;
    const { updatedAt } = (await shown('t1')).status;
    const say = (...said: number[]) => {
      for (const one of said) maker.last().progress(one);
    };
    say(0.1, 0.2, Number.NaN, -1, 0.3, 0.25);
    await w.advance('1s');
    expect(await progress()).toBe(0);
    await w.advance('1s');
    expect(await progress()).toBe(0.3);
    expect((await shown('t1')).status.updatedAt).toBe(updatedAt + 2000);
    say(0.5);
    await w.advance('1900ms');
    expect(await progress()).toBe(0.3);
    await w.advance('100ms');
    expect(await progress()).toBe(0.5);
    maker.last().fail(new Error('cut off'));
    await w.settle();
    expect(await progress()).toBe(0.5);
    await w.advance('3s');
    expect([maker.works.length, await progress()]).toEqual([2, 0]);
    say(0.2);
    await w.advance('5s');
    expect(await progress()).toBe(0.2);
    say(7);
    await w.advance('2s');
    expect(await progress()).toBe(1);
    expect((await shown('t1')).status.phase).toBe('running');
    maker.last().finish({ outcome: 'failed', message: 'No.' });
    await w.settle();
    expect((await w.request('POST', '/api/task/t1/retry')).body.status).toMatchObject({ progress: 0 });
  });

  it('costs no more commits however often progress is said', async () => {
    const { w, maker, spawn } = await office();
    await using _ = w;
    await spawn('t1');
    const steps = async () => {
      const text = await (await w.app.handle(new Request('http://localhost:8080/metrics'))).text();
      return Number(/millrace_actor_steps_total\{type="task",outcome="ok"\} (\d+)/.exec(text)?.[1]);
    };
    const before = await steps();
    for (let n = 1; n <= 1000; n += 1) {
      maker.last().progress(n / 2000);
      await w.advance('10ms');
    }
    expect((await steps()) - before).toBeLessThanOrEqual(5);
  });

  it.each(['pending', 'waiting', 'running'])('is cancelled when it is %s', async (phase) => {
    const config = { tasks: { running: 1, runningPerAccount: phase === 'waiting' ? 2 : 1 } };
    const { w, maker, spawn, shown, events, ...office1 } = await office({ config });
    await using _ = w;
    await spawn('t0');
    if (phase !== 'running') await spawn('t1');
    const id = phase === 'running' ? 't0' : 't1';
    expect(await office1.phase(id)).toBe(phase);
    expect((await w.request('POST', `/api/task/${id}/cancel`)).body.status.phase).toBe('cancelled');
    expect(maker.works.filter((work) => work.id === id)).toHaveLength(phase === 'running' ? 1 : 0);
    if (phase === 'running') expect(maker.last('t0').signal.aborted).toBe(true);
    expect((await events(id)).at(-1)).toBe('task.updated cancelled');
    // Its place is free.
    await spawn('t2');
    if (phase !== 'running') maker.last('t0').finish({ outcome: 'done', output: {} });
    await w.settle();
    expect(maker.last('t2').signal.aborted).toBe(false);
    maker.last('t2').finish({ outcome: 'done', output: {} });
    await w.advance('10m');
    expect(maker.works.filter((work) => work.id === id)).toHaveLength(phase === 'running' ? 1 : 0);
    expect((await shown(id)).status.phase).toBe('cancelled');
    expect(await w.store.jobs.totals()).toEqual([]);
  });

  it('is completed by what its plugin says too, whoever is at it', async () => {
    const { w, maker, spawn, shown } = await office();
    await using _ = w;
    await spawn('t1');
    await maker.tasks.complete('t1', { found: true });
    await w.settle();
    expect(maker.last().signal.aborted).toBe(true);
    expect(await shown('t1')).toMatchObject({ output: { import: { found: true } } });
    expect(await w.store.jobs.totals()).toEqual([]);
  });

  it('is retried with what it was made with, by whoever made it', async () => {
    const { w, maker, spawn, shown } = await office({ config: { tasks: { runningPerAccount: 1 } } });
    await using _ = w;
    await spawn('t1', { secret: { jwt: 'x' } });
    maker.last().finish({ outcome: 'failed', message: 'No.' });
    await w.settle();
    await spawn('t2');
    expect((await w.request('POST', '/api/task/t1/retry')).body.status).toMatchObject({ retries: 1 });
    expect(maker.renewals).toEqual(['t1']);
    // It takes a place as any other.
    expect((await shown('t1')).status).toMatchObject({ phase: 'pending', progress: 0 });
    expect((await shown('t1')).status).not.toHaveProperty('errorMessage');
    maker.last('t2').finish({ outcome: 'done', output: {} });
    await w.settle();
    expect(maker.last()).toMatchObject({ id: 't1', attempt: 1, secret: { jwt: 'x' } });
    maker.last().finish({ outcome: 'done', output: {} });
    await w.settle();
    expect((await shown('t1')).status.phase).toBe('completed');
    expect((await w.request('POST', '/api/task/t1/retry')).status).toBe(409);
  });

  it('is retried as often as one likes', async () => {
    const { w, maker, spawn } = await office({ config: { tasks: { runningPerAccount: 1 } } });
    await using _ = w;
    await spawn('t1');
    for (let round = 1; round <= 5; round += 1) {
      if (round % 2) maker.last().finish({ outcome: 'failed', message: 'No.' });
      else await w.request('POST', '/api/task/t1/cancel');
      await w.settle();
      expect((await w.request('POST', '/api/task/t1/retry')).body.status.retries).toBe(round);
      expect(maker.works).toHaveLength(round + 1);
    }
  });

  it('fails when its turn does not come in time', async () => {
    const { w, maker, spawn, shown } = await office({ config: { tasks: { runningPerAccount: 1 } } });
    await using _ = w;
    await spawn('t1');
    await spawn('t2', { deadline: w.now() + 60_000 });
    await w.advance('61s');
    expect((await shown('t2')).status).toMatchObject({
      ...{ phase: 'failed', errorMessage: 'It could not begin in time.' },
    });
    maker.last().finish({ outcome: 'done', output: {} });
    await w.settle();
    expect(maker.works).toHaveLength(1);
  });

  it('shows its secret to nobody but its work', async () => {
    const { w, maker, spawn, account } = await office({ config: { tasks: { runningPerAccount: 1 } } });
    await using _ = w;
    const secret = {
      url: 'https://me:p%40ss%20word@example.com/film.mp4?X-Signature=sig/na+ture&expires=7#frag-ment',
      headers: { authorization: 'Bearer tokentoken' },
      list: ['in a list'],
    };
    const hidden = ['p@ss word', 'p%40ss%20word', 'sig/na+ture', 'sig/na ture', 'sig%2Fna%2Bture'];
    hidden.push('frag-ment', 'tokentoken', 'in a list');
    await spawn('t1', { secret, params: { url: 'https://example.com/film.mp4' } });
    await spawn('t2', { secret });
    expect(maker.last('t1').secret).toEqual(secret);
    const told = `GET ${secret.url} p@ss word, ${JSON.stringify(secret)} sig/na+ture ${hidden.join(' ')}`;
    maker.last().fail(new Error(told, { cause: new Error(told) }));
    await w.settle();
    await w.advance('3s');
    maker.last().fail(new Fault('x.y', { status: 503, message: told }));
    await w.settle();
    await w.advance('6s');
    const jobs = await w.store.jobs.totals();
    expect(jobs).toMatchObject([{ kind: 'task.run', count: 1 }]);
    maker.last().finish({ outcome: 'failed', message: `No: ${told}` });
    await w.settle();
    expect(maker.last().id).toBe('t2');
    maker.last().fail(new Fault('x.y', { status: 401, message: told, retry: false }));
    await w.settle();
    const rows = await w.store.resources.list('task', { account, limit: 10 });
    const events = await w.store.events.after(0, { limit: 1000 });
    const shown = [
      JSON.stringify(rows),
      JSON.stringify(events.map(({ body }) => body)),
      JSON.stringify((await w.request('GET', '/api/task')).body),
      JSON.stringify((await w.request('GET', '/api/task/t1')).body),
      ...w.lines,
    ];
    const isIn = (text: string) => hidden.filter((part) => text.includes(part));
    expect(shown.filter((text) => isIn(text).length > 0)).toEqual([]);
    const { status } = (await w.request('GET', '/api/task/t1')).body;
    expect(status.errorMessage).toMatch(/^No: GET \*\*\*/);
    // What it does not need any more is not kept.
    await w.request('POST', '/api/task/t1/retry');
    const stateOf = async (id: string) => (await w.store.load(`task/${id}`))?.state ?? '';
    const kept = async (id: string) => (await stateOf(id)).includes('millrace:sealed:');
    expect(isIn(await stateOf('t1'))).toEqual([]);
    expect(await kept('t1')).toBe(true);
    maker.last('t1').finish({ outcome: 'done', output: {} });
    await w.settle();
    expect(await kept('t1')).toBe(false);
  });

  it('tells no client of its turn', async () => {
    const { w, maker, spawn } = await office();
    await using _ = w;
    await spawn('t1');
    maker.last().finish({ outcome: 'done', output: {} });
    await w.settle();
    const all = await w.store.events.after(0, { limit: 1000 });
    const internal = all.filter(({ type }) => type === 'task.admitted');
    expect(internal.map(({ account }) => account)).toEqual(['']);
    expect((await w.events()).map(({ event }) => event)).not.toContain('task.admitted');
  });

  it('has a plugin that is off now: that is trouble', async () => {
    const { w, maker, spawn, shown } = await office({ durable: true });
    await using _ = w;
    await spawn('t1');
    await w.crash({ downFor: '1m', plugins: [accounts, tasks] as unknown as Plugin[] });
    await w.advance('1m');
    expect((await shown('t1')).status.phase).toBe('waiting');
    await w.crash({ downFor: '1s' });
    await w.advance('2m');
    maker.last().finish({ outcome: 'done', output: {} });
    await w.settle();
    expect((await shown('t1')).status.phase).toBe('completed');
  });
});
