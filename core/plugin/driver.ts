import type { Static, TObject } from '@sinclair/typebox';
import type { Log } from '../base/log.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { Clock } from '../ports/clock.ts';

/**
 * Drivers that a plugin brings. The config chooses one by the name of its plugin: `drivers: {"blobs": "@acme/gcs"}`. Only
 * blobs can be stored by a driver from outside: store, bus and jobs commit together.
 */
export interface PortDrivers<C extends TObject = TObject> {
  /**
   * The files of the deployment. Called once per process, before any plugin starts, and only when the config chooses it.
   * It connects nothing: the program calls `open` of the result. `blobsConformance` of `millrace/testing` tests a driver.
   */
  readonly blobs?: (config: Static<C>, context: DriverContext) => Blobs | Promise<Blobs>;
}

/** What a driver is given. There is no kit yet: it needs the store, which is opened later. */
export interface DriverContext {
  readonly clock: Clock;
  readonly log: Log;
  /** Folder of this node's data. */
  readonly dataDir: string;
}
