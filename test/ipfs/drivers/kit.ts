import { Fault } from '../../../core/base/fault.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { ipfsDriver } from '../../../plugins/exports/ipfs/driver.ts';
import type { IpfsKit } from '../../../plugins/exports/ipfs/ipfs-driver.ts';
import type { IpfsSettings, PinningCredentials } from '../../../plugins/tasks/contract.ts';
import { modelBlobs } from '../../conformance/blobs/model.ts';
import { scriptedPacker } from '../../kit/scripted-packer.ts';
import { useOf } from '../../kit/use.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { client } from '../../outbound/kit.ts';
import { tableBytes } from '../cid-table.ts';

export const assetId = '0aa1f7d3-5f0e-4e4f-9f6c-3f6d2f1f9a10';
export const never = new AbortController().signal;
export const jwt = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2VjcmV0';
export const apiSecret = 'TOP_SECRET_WORD';
export const common = {
  cidProfile: 'unixfs-v1-2025',
  pinningEndpoint: 'https://api.pinata.cloud',
} as const;

/** The driver of these settings, with the real client and blobs in memory. */
export function opened(
  settings: IpfsSettings,
  options: { credentials?: PinningCredentials; allow?: string[]; clock?: Clock } = {},
) {
  const { credentials, ...rest } = options;
  const clock = options.clock ?? virtualClock({ start: 0 });
  const blobs = modelBlobs();
  const outbound = client(rest);
  const packer = scriptedPacker(blobs);
  const deployment = { publicUrl: 'https://video.example' } as IpfsKit['deployment'];
  const kit: IpfsKit = { ...{ blobs, clock, deployment, outbound }, use: useOf({ packer }, () => settings) };
  const driver = ipfsDriver(kit, { assetId, ...(credentials && { credentials }) });
  return {
    ...{ driver, blobs },
    async add(bytes: Uint8Array, more: { name?: string; size?: number; signal?: AbortSignal } = {}) {
      const { name = 'A film.mp4', size = bytes.length, signal = never } = more;
      const key = `assets/${assetId}/source.mp4`;
      await blobs.put(key, bytes);
      const told: number[] = [];
      const { cid } = await driver.addFile({ key, size, name }, { signal, progress: (to) => told.push(to) });
      return { cid, told };
    },
    [Symbol.dispose]: () => outbound.close(),
  };
}
export const pinningAt = (url: string, credentials: PinningCredentials = { jwt }): IpfsSettings => ({
  ...{ ...common, driver: 'pinning', pinningEndpoint: url, credentials },
});
export const kuboAt = (endpoint: string): IpfsSettings => ({ ...common, driver: 'kubo', endpoint });
export const bytes = tableBytes(5000);

/** What it fails with. */
export async function faultOf(running: Promise<unknown>): Promise<Fault> {
  const error = await running.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Fault)) throw new Error(`no Fault: ${error}`);
  return error;
}

export async function progressOf(d: ReturnType<typeof opened>, given: Uint8Array) {
  const key = `assets/${assetId}/large.mp4`;
  await d.blobs.put(key, given);
  const told: number[] = [];
  const file = { key, size: given.length, name: 'a' };
  const fault = await faultOf(d.driver.addFile(file, { signal: never, progress: (to) => told.push(to) }));
  return { told, fault };
}
