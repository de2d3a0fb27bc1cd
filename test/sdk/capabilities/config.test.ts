import {
  authenticator,
  collection,
  definePlugin,
  durationSchema,
  Elysia,
  faultMaker,
  faultsOf,
  json,
  keyedRoutes,
  milliseconds,
  object,
  offer,
  says,
  services,
  Type,
  token,
} from 'millrace/plugin';
import { allPlugins, world } from 'millrace/testing';
import { expect, it } from 'vitest';

const tide = token<{ level(): number }>('tide');
const harbours = collection<string>('tides.harbours');
const faults = faultsOf(409, { 'tide.too_low': 'The tide is too low.' });
const fault = faultMaker(faults);
const config = object({
  least: Type.Integer({ default: 2, minimum: 0, description: 'Least level.' }),
  period: durationSchema('Of one tide.', { default: '6h', atLeast: '1h' }),
});

const tides = definePlugin({
  id: 'tides',
  summary: 'knows the tide',
  contract: 3,
  config,
  contradictions: ({ least }) => (least > 10 ? ['least: no tide is that high'] : []),
  needs: [authenticator, services.volatile],
  provides: [tide],
  faults,
  start(kit) {
    kit.provide(tide, { level: () => Math.floor(kit.clock.now() / milliseconds(kit.config.period)) % 5 });
    const unlisten = kit.use(services.volatile).listen('tides/seen', () => {});
    return unlisten;
  },
  routes(kit) {
    const { keyed } = keyedRoutes(kit);
    const entries = kit.metrics.counter('tides_entries_total', 'Ships that entered.').with({});
    return new Elysia().post(
      '/api/tide/enter',
      keyed(() => {
        if (kit.config.least > 4) throw fault('tide.too_low', 'The tide is too low. Wait.');
        entries.add();
        return Response.json({ harbours: kit.offered(harbours) });
      }),
      says('Enters.', {
        name: 'enter',
        answers: { 200: json(object({ harbours: Type.Array(Type.String()) })) },
        faults: ['tide.too_low'],
      }),
    );
  },
});

const seen: number[] = [];
const pilot = definePlugin({
  id: 'pilot',
  summary: 'asks for the tide',
  contract: 3,
  needs: [tide],
  offers: [offer(harbours, () => 'North')],
  start: (kit) => void seen.push(kit.use(tide).level()),
});

const plugins = [...(await allPlugins()), pilot, tides];

it('fills its config with defaults, and refuses what does not fit, all at once', async () => {
  const refused = world({ plugins, config: { tides: { least: -1, perod: '1h' } } });
  await expect(refused).rejects.toMatchObject({
    problems: [
      'plugins.tides.perod: unknown field; did you mean period?',
      expect.stringMatching(/^plugins\.tides\.least: expected/),
    ],
  });
  await expect(world({ plugins, config: { tides: { least: 11 } } })).rejects.toThrow(
    'plugins.tides.least: no tide is that high',
  );
  await expect(world({ plugins, config: { tides: { period: '1m' } } })).rejects.toThrow(
    'expected at least 1h',
  );
});

it('counts metrics and answers with Faults of its own', async () => {
  await using w = await world({ plugins });
  expect((await w.request('POST', '/api/tide/enter')).body).toEqual({ harbours: ['North'] });
  const metrics = await (await w.app.handle(new Request('http://localhost:8080/metrics'))).text();
  expect(metrics).toContain('# TYPE tides_entries_total counter\ntides_entries_total 1');
  await using low = await world({ plugins, config: { tides: { least: 5 } } });
  const refused = await low.request('POST', '/api/tide/enter');
  expect([refused.status, refused.body]).toEqual([
    409,
    { errors: ['The tide is too low. Wait.'], code: 'tide.too_low' },
  ]);
});

it('meets other plugins and services by token, in the order of their needs', async () => {
  seen.length = 0;
  await using w = await world({ plugins });
  expect(seen).toEqual([Math.floor(w.now() / 21_600_000) % 5]);
  await expect(world({ plugins: plugins.filter((one) => one !== tides) })).rejects.toThrow(
    'plugin pilot: needs tide, which no enabled plugin provides',
  );
});
