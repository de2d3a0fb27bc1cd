import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { jsonLog } from '../../core/base/log.ts';
import type { Actors } from '../../core/plugin/actor.ts';
import type { Attempt } from '../../core/plugin/effect.ts';
import { type AnyEffect, definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { boot } from '../../runtime/boot/boot.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { memoryVolatile } from '../../runtime/drivers/volatile/memory.ts';
import { modelBlobs } from '../conformance/blobs/model.ts';
import { courierActor, courierPlugin, type Parcel } from '../kit/courier.ts';
import { scriptedConverter } from '../kit/scripted-converter.ts';
import { scriptedInspector, scriptedIntake } from '../kit/scripted-intake.ts';
import { scriptedMedia } from '../kit/scripted-media.ts';
import { scriptedOutbound } from '../kit/scripted-outbound.ts';
import { scriptedPacker } from '../kit/scripted-packer.ts';
import { scriptedPusher } from '../kit/scripted-pusher.ts';
import { scriptedRecorder } from '../kit/scripted-recorder.ts';
import { scriptedStills } from '../kit/scripted-stills.ts';
import { scriptedTranscoder } from '../kit/scripted-transcoder.ts';

/**
 * Carries parcels until it is killed, or with `drain` until all are delivered. Says `asked <parcel>` before it asks for
 * one, `taken <parcel>` when that is acknowledged; the work itself notes in a file what it does, as a receiver would.
 */
const [folder = '', mode = '', couriers = '8'] = process.argv.slice(2);
const clock = systemClock();
const store = sqliteStore({ file: join(folder, 'store.db') });
const note = openSync(join(folder, 'work.log'), 'a');
writeSync(note, `start ${process.pid}\n`);

const deliver: AnyEffect['run'] = async ({ id, input }: Attempt<Parcel>) => {
  writeSync(note, `begin ${process.pid} ${id} ${input.parcel}\n`);
  await new Promise<void>((resolve) => clock.at(clock.now() + (input.parcel.length % 4), resolve));
  writeSync(note, `end ${process.pid} ${id} ${input.parcel}\n`);
  return { status: 200 };
};
// Attempts that ended with their process count, and this process ends often.
const effect = { ...courierPlugin.effects?.['courier.deliver'], run: deliver, attempts: 100 };
const effects = { 'courier.deliver': effect };
let actors: Actors | undefined;
const reach = definePlugin({
  id: 'reach',
  summary: 'hands the actors to this script',
  start: (kit) => {
    actors = kit.actors;
    return undefined;
  },
});
const booted = await boot({
  secretsKey: 'secrets-key-of-this-test',
  plugins: [
    { plugin: { ...courierPlugin, effects } as Plugin, config: { concurrency: 3 } },
    { plugin: reach, config: undefined },
  ],
  drivers: {
    ...{ store, jobs: store.jobs, clock, blobs: modelBlobs() },
    ...{ volatile: memoryVolatile({ clock }), outbound: scriptedOutbound() },
  },
  services: {
    converter: scriptedConverter,
    inspector: () => scriptedInspector(),
    intake: () => scriptedIntake(join(folder, 'uploads')),
    media: () => scriptedMedia(clock),
    packer: () => scriptedPacker(modelBlobs()),
    pusher: () => scriptedPusher(clock),
    recorder: scriptedRecorder,
    stills: () => scriptedStills(() => clock.now()),
    transcoder: scriptedTranscoder,
  },
  deployment: { publicUrl: 'http://localhost', dataDir: folder, bootstrapKey: undefined, rtmpPort: 1935 },
  ...{ nodeId: 'local', nodeTimeout: 10_000, partitions: 4, hotActors: 100 },
  log: jsonLog({ level: 'error', now: () => clock.now(), write: (line) => writeSync(2, `${line}\n`) }),
  onFatal: (reason) => writeSync(2, `${reason}\n`),
});
const reached = actors as Actors | undefined;
if (!reached) throw new Error('the actors are not there');

async function carry(courier: string): Promise<never> {
  if (!(await reached?.read(courierActor, courier))) await reached?.spawn(courierActor, courier, {});
  for (let number = 1; ; number += 1) {
    const parcel = `${courier}-${process.pid}-${number}`;
    writeSync(1, `asked ${parcel}\n`);
    await reached?.ask(courierActor, courier, { type: 'carry', parcel: { parcel } });
    writeSync(1, `taken ${parcel}\n`);
    // As fast as they are delivered: the row of an actor grows with what it has to carry.
    while (((await reached?.read(courierActor, courier))?.context.parcels.length ?? 0) > 2) await tick();
  }
}

function tick(): Promise<void> {
  return new Promise((resolve) => clock.at(clock.now() + 1, resolve));
}

if (mode === 'drain') {
  while ((await store.jobs.totals()).length > 0) await tick();
  await booted.stop();
  process.exit(0);
}
await Promise.all(Array.from({ length: Number(couriers) }, (_, index) => carry(`c${index}`)));
