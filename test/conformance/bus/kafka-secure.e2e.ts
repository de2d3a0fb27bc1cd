import { Kafka as Client, ConfigResourceTypes, logLevel } from 'kafkajs';
import { afterEach, describe, expect, test } from 'vitest';
import { type KafkaBusOptions, kafkaBus } from '../../../runtime/drivers/bus/kafka/index.ts';
import { engineFor } from '../../kit/engines.ts';
import { certificates } from '../../outbound/certificates.ts';
import { numbers, witness } from './check.ts';
import { type OpenedKafka, openedKafka } from './kafka-opened.ts';

const engine = await engineFor('kafka');
const opens: OpenedKafka[] = [];
const password = 'geheim-und-lang';
const sasl = { mechanism: 'plain', username: 'millrace', password } as const;
const { authority: ca, good: cert, key } = certificates;

let started: ReturnType<typeof engine.start> | undefined;
const secured = () => {
  started ??= engine.start({ secure: { users: { millrace: password }, cert, key } });
  return started;
};
const open = (brokers: readonly string[], more: Partial<KafkaBusOptions>) => {
  const opened = openedKafka(brokers, { more });
  opens.push(opened);
  return opened;
};
const refusal = async (brokers: readonly string[], more: Partial<KafkaBusOptions>) => {
  const bus = kafkaBus(open(brokers, more).options('a'));
  const fault = await bus.open().then(
    () => 'it was let in',
    (error) => error,
  );
  await bus.close();
  return fault;
};

afterEach(async () => {
  for (const opened of opens.splice(0)) await opened.close();
});

describe.skipIf(engine.isMissing)('a Kafka that lets not everybody in', () => {
  test.each([
    ['withPassword', { sasl }],
    ['overTls', { sasl, ssl: { ca } }],
  ] as const)(
    '%s: a node with the right settings sends, consumes, tells and publishes',
    async (listener, more) => {
      const opened = open((await secured())[listener], more);
      const [a, b] = [await opened.node('a'), await opened.node('b')];
      const owner = witness();
      await a.own(owner);
      const heard: string[] = [];
      await b.listen((message) => heard.push(message));
      for (const partition of numbers(4)) await b.send({ partition, key: 'k', value: `${partition}` });
      await a.tell('b', '"word"');
      await a.publish([{ key: 'k', value: '1' }]);
      await a.ping();
      await opened.until('all', () => owner.values().length === 4 && heard.length === 1);
      owner.check();
      expect(opened.log.join('\n')).not.toContain(password);
    },
  );

  test.each([
    ['a wrong password', 'withPassword', { sasl: { ...sasl, password: 'wrong-password' } }, 'kafka.sasl'],
    ['nobody of this name', 'overTls', { sasl: { ...sasl, username: 'you' }, ssl: { ca } }, 'kafka.sasl'],
    [
      'a way in that there is not',
      'withPassword',
      { sasl: { ...sasl, mechanism: 'scram-sha-256' } },
      'kafka.sasl',
    ],
    ['an authority that we do not know', 'overTls', { sasl, ssl: true }, 'kafka.ssl'],
    ['more copies than brokers', 'brokers', { replication: 3 }, 'kafka.replication'],
  ] as const)('%s is refused for good, with the setting that is wrong', async (_, listener, more, named) => {
    const fault = await refusal((await secured())[listener], more as Partial<KafkaBusOptions>);
    expect(fault).toMatchObject({ code: 'bus.refused', status: 500 });
    expect(fault.message).toMatch(new RegExp(`^${named}: Kafka at 127\\.0\\.0\\.1:\\d+: `));
    expect(fault.message).not.toMatch(/geheim|wrong-password/);
  });

  test('a client without a password, or without TLS, gets no further than that', async () => {
    const { withPassword, overTls } = await secured();
    for (const [brokers, more] of [
      [withPassword, {}],
      [overTls, { sasl }],
    ] as const) {
      const fault = await refusal(brokers, more);
      expect(fault.code).toMatch(/^bus\.(unreachable|refused)$/);
      expect(fault.message).toContain(brokers[0]);
    }
  });

  test('topics that are made have as many copies, and as many in sync, as is asked for', async () => {
    const { brokers } = await secured();
    const opened = open(brokers, { replication: 1, minInsync: 1 });
    await opened.node('a');
    const admin = new Client({ brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const names = ['commands', 'events', 'dead', 'replies.a'].map((name) => `${opened.namespace}.${name}`);
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: names.map((name) => ({
        ...{ type: ConfigResourceTypes.TOPIC, name },
        configNames: ['min.insync.replicas'],
      })),
    });
    await admin.disconnect();
    // Set for the topic itself: not what the broker has.
    for (const { configEntries } of resources)
      expect(configEntries[0]).toMatchObject({ configValue: '1', isDefault: false });
  });
});
