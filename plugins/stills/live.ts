import { text } from '../../core/http/operation.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { LiveKeyFrame } from '../../core/ports/media.ts';
import type { StillMedia } from '../../core/ports/stills.ts';
import type { LiveFile } from '../streams/contract.ts';
import { stillFaults, type ThumbnailFormat, thumbnailBox, thumbnailOf } from './films.ts';

/** ms for which the thumbnail of a broadcast is answered again. */
const refresh = 5000;

/** `/hls/{playbackId}/thumbnail.jpg`, and the same as PNG and WebP: the newest key frame, at most every 5 s and only on request. */
export function liveThumbnail(format: ThumbnailFormat, kit: Pick<Kit, 'clock' | 'use'>): LiveFile {
  const form = format === 'jpeg' ? '' : `/${format}`;
  const { clock } = kit;
  const media = kit.use(services.media);
  const stills = kit.use(services.stills);
  const answer = async (playbackId: string, signal: AbortSignal): Promise<Response> => {
    const still = await stills.make({
      // There is one of each broadcast, whoever asks.
      ...{ kind: 'live', client: `live/${playbackId}`, freshFor: refresh, signal },
      ...{ key: `live/${playbackId}${form}`, of: `live/${playbackId}${form}` },
      open: () => {
        const found = media.keyFrame(playbackId);
        return found && found !== 'none' ? { ...pictureOf(found), format } : undefined;
      },
    });
    const left = Math.max(1, Math.ceil((still.at + refresh - clock.now()) / 1000));
    return new Response(still.bytes, {
      headers: {
        'content-type': `image/${format}`,
        'cache-control': `public, max-age=${left}`,
        etag: `"${still.etag}"`,
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'Age, Date, ETag, Retry-After',
        'x-content-type-options': 'nosniff',
      },
    });
  };
  return {
    name: thumbnailOf(format),
    summary: `A current picture of the broadcast as ${names[format]}, public. At most 5 s and one key frame interval old.`,
    operation: {
      name: `getLiveThumbnail${format === 'jpeg' ? '' : names[format]}`,
      answers: {
        200: text([`image/${format}`], 'The picture.'),
        304: { description: 'The picture has not changed.' },
      },
      faults: stillFaults,
    },
    // Checked before the memory: a broadcast that is over is shown to nobody.
    answer: (playbackId, { signal }) => (media.keyFrame(playbackId) ? answer(playbackId, signal) : undefined),
  };
}

const names: Readonly<Record<ThumbnailFormat, string>> = { jpeg: 'JPEG', png: 'PNG', webp: 'WebP' };

function pictureOf({ version, init, part }: LiveKeyFrame): StillMedia {
  const source = {
    init: { id: init.id, read: () => bytesOf(init.bytes) },
    open: () => ({
      size: part.size,
      read: ({ from, to }: { from: number; to: number }) => bytesOf(part.slice(from, to)),
    }),
  };
  return {
    version,
    pictures: [{ sources: [source] }],
    columns: 1,
    width: thumbnailBox,
    height: thumbnailBox,
  };
}

async function bytesOf(blob: Blob): Promise<Uint8Array> {
  return new Uint8Array(await blob.arrayBuffer());
}
