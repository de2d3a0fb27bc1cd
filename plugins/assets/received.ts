import { bytesOf } from '../../core/base/config-fields.ts';
import { Fault, hasCode } from '../../core/base/fault.ts';
import { services } from '../../core/plugin/services.ts';
import type { ReceivedFile } from '../../core/ports/intake.ts';
import type { AssetsKit } from './kit.ts';
import { assetLimits } from './limits.ts';

/**
 * Writes a film down that is made on this node, as fast as it is made. Throws what the film throws, Fault `conversion.refused` when it
 * becomes too large, and those of the intake that tell of this node.
 */
export async function received(
  film: ReadableStream<Uint8Array>,
  { kit, signal }: { readonly kit: AssetsKit; readonly signal: AbortSignal },
): Promise<ReceivedFile> {
  const { maxUploadSize } = kit.config;
  const reader = film.getReader();
  let why: { readonly error: unknown } | undefined;
  // The intake cannot know why a body ended.
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          why = { error };
          controller.error(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  try {
    const most = bytesOf(maxUploadSize);
    return await kit
      .use(services.intake)
      .receive(body, { most, signal, silence: assetLimits.conversionSilence });
  } catch (error) {
    signal.throwIfAborted();
    if (why) throw why.error;
    if (!hasCode(error, 'intake.too_large')) throw error;
    const message = `The film is not converted: it becomes larger than ${maxUploadSize} (plugins.assets.maxUploadSize).`;
    throw new Fault('conversion.refused', { status: 422, message, retry: false });
  } finally {
    // One that the intake did not begin to read would wait for its place for ever.
    await reader.cancel().catch(() => {});
  }
}
