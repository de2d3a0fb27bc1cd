/**
 * `millrace/testing`: tests of plugins with the whole program, virtual time and no sockets. Needs Bun, and no test framework of its
 * own. Guide: docs/plugins.
 */
export { blobsConformance, type ConformanceCheck } from '../test/conformance/blobs/conformance.ts';
export { allPlugins, anotherAccount, type OtherAccount } from '../test/kit/all-plugins.ts';
export { durableMachine } from '../test/kit/durable-machine.ts';
export { type ScriptedAttempt, scriptedEffect } from '../test/kit/scripted-effect.ts';
export type { Films } from '../test/kit/scripted-intake.ts';
export type { ScriptedMedia, ScriptedPublish } from '../test/kit/scripted-media.ts';
export type { ScriptedOutbound } from '../test/kit/scripted-outbound.ts';
export type { ScriptedRecorder } from '../test/kit/scripted-recorder.ts';
export { type VirtualClock, virtualClock } from '../test/kit/virtual-clock.ts';
export { bootstrapKey, type World, world } from '../test/kit/world.ts';
