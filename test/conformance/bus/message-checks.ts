import { expect } from 'vitest';
import type { LogRecord } from '../../../core/ports/bus.ts';
import { type BusCheck, numbers } from './check.ts';

/** Words between nodes, and what leaves the program. */
export const messageChecks: readonly BusCheck[] = [
  {
    name: 'a node hears what it is told from the moment it listens, in order for each teller, and nothing else',
    async run({ node, pass, until }) {
      const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => node(name)));
      await a!.tell('b', '"before"');
      const heard: Record<string, string[]> = { b: [], c: [] };
      const end = await b!.listen((message) => heard.b!.push(message));
      await c!.listen((message) => heard.c!.push(message));
      await Promise.all([
        ...numbers(300).map((n) => a!.tell('b', `["a",${n}]`)),
        ...numbers(300).map((n) => c!.tell('b', `["c",${n}]`)),
        ...numbers(10).map((n) => b!.tell('c', `["b",${n}]`)),
        b!.tell('b', '"self"'),
      ]);
      await until('words', () => heard.b!.length >= 601 && heard.c!.length >= 10);
      const from = (teller: string) => heard.b!.filter((message) => message.startsWith(`["${teller}"`));
      expect(from('a')).toEqual(numbers(300).map((n) => `["a",${n}]`));
      expect(from('c')).toEqual(numbers(300).map((n) => `["c",${n}]`));
      expect(heard.b).toContain('"self"');
      expect(heard.b).not.toContain('"before"');
      expect(heard.c).toEqual(numbers(10).map((n) => `["b",${n}]`));
      await end();
      await a!.tell('b', '"after"');
      await pass(600);
      expect(heard.b).toHaveLength(601);
    },
  },
  {
    name: 'who listens hears what is told at once after',
    async run({ node, until }) {
      const [a, b] = [await node('a'), await node('b')];
      const heard: string[] = [];
      await b.listen((message) => heard.push(message));
      await a.tell('b', '1');
      await until('the word', () => heard.length > 0);
      expect(heard).toEqual(['1']);
    },
  },
  {
    name: 'a listener that throws hears the next word too',
    async run({ node, until }) {
      const bus = await node('a');
      const heard: string[] = [];
      await bus.listen((message) => {
        heard.push(message);
        if (message === '1') throw new Error('as asked');
      });
      for (const n of numbers(3)) await bus.tell('a', `${n}`);
      await until('words', () => heard.length >= 3);
      expect(heard).toEqual(['0', '1', '2']);
    },
  },
  {
    name: 'telling a node that nobody has heard of is harmless',
    async run({ node }) {
      const bus = await node('a');
      await bus.tell('nobody', '1');
    },
  },
  {
    name: 'a node knows whether the engine answers, also one that owns nothing; a closed bus does not',
    async run({ node }) {
      const bus = await node('a');
      await Promise.all([bus.ping(), bus.ping()]);
      await bus.ping();
      await bus.close();
      await expect(bus.ping()).rejects.toMatchObject({ code: 'bus.closed', status: 503 });
    },
  },
  {
    name: 'events and buried records are acknowledged',
    async run({ node }) {
      const bus = await node('a');
      await bus.publish([]);
      await bus.publish(numbers(40).map((n) => ({ key: `k${n % 3}`, value: `${n}` })));
      const record: LogRecord = { partition: 1, offset: 7, at: 5, key: 'k', value: 'no JSON' };
      await bus.bury(record, 'not JSON');
      await expect(bus.publish([{ key: '', value: '1' }])).rejects.toThrow(RangeError);
    },
  },
];
