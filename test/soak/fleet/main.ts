/**
 * A fleet on real engines under load while parts of it die, and a look at everything afterwards: what was acknowledged is
 * there, no step was done by two owners, no event has two contents, no job is left or was added twice, no broadcast was touched.
 * Run: npm run soak -- fleet [case]
 */
import { parseArgs } from 'node:util';
import { chaos } from './chaos.ts';
import { kills } from './kills.ts';
import { outages } from './outages.ts';
import { rollback } from './rollback.ts';
import { type Stage, stage } from './stage.ts';

const usage = `npm run soak -- fleet [case] [options]
  all         chaos, and then both rollbacks, each on a fleet of its own; the default
  chaos       nodes, Kafka, one of its two brokers and Redis are killed, frozen and stopped by chance
  kills       actor nodes are killed with -9 and started again
  kafka       Kafka is stopped, frozen, killed
  redis       Redis is killed, frozen, away
  rollback    Redis goes back to what it held 20 s before; rollback-restarted: and all nodes are killed with it
options
  --minutes 60    how long all of it takes, or chaos alone
  --streams 20    broadcasts at 500 kb/s
  --disturbed 6   of them, those that clients stop and rotate
  --clients 8     clients that write, beside one counter in each partition
  --kills 10      how often a node is killed
  --rounds 1      how often each outage comes`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '60' },
    streams: { type: 'string', default: '20' },
    disturbed: { type: 'string', default: '6' },
    clients: { type: 'string', default: '8' },
    kills: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});
const [name = 'all'] = positionals;
const minutes = Number(values.minutes);
/** What rollbacks, starts and looks at everything take, minutes. */
const besides = 10;
const cases: Readonly<Record<string, (on: Stage) => Promise<void>>> = {
  chaos: (on) => chaos(on, name === 'all' ? Math.max(1, minutes - besides) : minutes),
  kills: (on) => kills(on, Number(values.kills)),
  kafka: (on) => outages(on, { engine: 'kafka', rounds: Number(values.rounds) }),
  redis: (on) => outages(on, { engine: 'redis', rounds: Number(values.rounds) }),
  rollback: (on) => rollback(on, { areNodesRestarted: false }),
  'rollback-restarted': (on) => rollback(on, { areNodesRestarted: true }),
};
const names = name === 'all' ? ['chaos', 'rollback', 'rollback-restarted'] : [name];
if (values.help || names.some((one) => !cases[one])) {
  console.log(usage);
  process.exit(values.help ? 0 : 2);
}
const failed: string[] = [];
for (const one of names) {
  console.log(`--- ${one}, ${new Date().toISOString()}`);
  const on = await stage({
    streams: Number(values.streams),
    disturbed: Number(values.disturbed),
    clients: Number(values.clients),
  });
  await cases[one]!(on);
  if (!(await on.finish())) failed.push(one);
}
console.log(failed.length > 0 ? `failed: ${failed.join(', ')}` : 'all was well');
process.exit(failed.length > 0 ? 1 : 0);
