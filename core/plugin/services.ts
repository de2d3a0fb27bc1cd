import type { Converter } from '../ports/converter.ts';
import type { Inspector } from '../ports/inspector.ts';
import type { Intake } from '../ports/intake.ts';
import type { Media } from '../ports/media.ts';
import type { Packer } from '../ports/packer.ts';
import type { ProgramFacts } from '../ports/program.ts';
import type { Pusher } from '../ports/pusher.ts';
import type { Recorder } from '../ports/recorder.ts';
import type { Secrets } from '../ports/secrets.ts';
import type { Stills } from '../ports/stills.ts';
import type { Transcoder } from '../ports/transcoder.ts';
import type { Volatile } from '../ports/volatile.ts';
import { token } from './token.ts';

/** Engines of the runtime. A plugin that uses one says so in its `needs`, and gets it by `kit.use(services.recorder)`. */
export const services = {
  /** Converts videos into others. */
  converter: token<Converter>('service.converter'),
  /** Reads what a video file contains. */
  inspector: token<Inspector>('service.inspector'),
  /** Receives files that clients send to this node. */
  intake: token<Intake>('service.intake'),
  /** Accepts broadcasts and serves them live. */
  media: token<Media>('service.media'),
  /** Packs files for IPFS. */
  packer: token<Packer>('service.packer'),
  /** What this process knows of itself: version, plugins, config, disk. */
  program: token<ProgramFacts>('service.program'),
  /** Sends broadcasts of this node on to other servers. One plugin alone may listen to it: `tell` is called once. */
  pusher: token<Pusher>('service.pusher'),
  /** Writes broadcasts of this node to disk. */
  recorder: token<Recorder>('service.recorder'),
  /** Derives keys from the deployment's key, and encrypts what is stored. */
  secrets: token<Secrets>('service.secrets'),
  /** Makes pictures of broadcasts and videos. */
  stills: token<Stills>('service.stills'),
  /** Makes renditions of broadcasts of this node. */
  transcoder: token<Transcoder>('service.transcoder'),
  /** Values that all nodes see for a short time, and messages between nodes that may be lost. */
  volatile: token<Volatile>('service.volatile'),
} as const;

/** What stands for each service in a running program. */
export type Services = {
  readonly [K in keyof typeof services]: NonNullable<(typeof services)[K]['type']>;
};
