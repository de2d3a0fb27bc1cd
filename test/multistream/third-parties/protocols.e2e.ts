/** Broadcasts pushed on by RTMPS and SRT and with newer codecs, all on one server of ours; at last what it gave away. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Encoder, encode, publisher } from '../../e2e/harness/encoders.ts';
import { complaints, probe } from '../../e2e/harness/film-tools.ts';
import { numbered } from '../../e2e/harness/numbered.ts';
import { until } from '../../e2e/harness/wait.ts';
import { findFreePorts } from '../../kit/free-ports.ts';
import { certificates } from '../../outbound/certificates.ts';
import { enhancedClip } from '../../publisher/enhanced-clip.ts';
import { startFarSide } from '../far-side.ts';
import { checkReceived } from '../received.ts';
import { hasSrt, startSrtListener } from '../srt-listener.ts';
import { plain } from '../targets.ts';
import {
  expectAll,
  far,
  folder,
  givesNothingAway,
  keep,
  oneServer,
  secrets,
  server,
  targets,
} from './kit.ts';

/** Addresses that nothing else has: whoever finds one in what the server printed knows where it is from. */
const places = { srt: '127.0.0.75', far: '127.0.0.77' };

describe('multistream', () => {
  oneServer({ host: places.far });

  test.concurrent('H.265 and AV1 with Opus arrive as they were sent', async () => {
    const secret = secrets();
    const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=30'];
    const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'];
    const h265 = ['-c:v', 'libx265', '-preset', 'ultrafast', '-tag:v', 'hvc1', '-pix_fmt', 'yuv420p'];
    const keys = ['-x265-params', 'log-level=error:keyint=60:min-keyint=60:scenecut=0'];
    const av1 = ['-c:v', 'libsvtav1', '-preset', '12', '-g', '60', '-b:v', '300k'];
    const both = [...picture, ...sound, '-t', '4'];
    await encode([...both, ...h265, ...keys, '-c:a', 'aac', join(folder, 'hevc.mp4')]);
    await encode([...both, ...av1, '-c:a', 'libopus', join(folder, 'av1.mp4')]);
    for (const name of ['hevc', 'av1']) {
      const pushed = await targets.create(name, { url: far.url(secret(name)) });
      const stream = await targets.createStream(name, [pushed]);
      const clip = enhancedClip(await Bun.file(join(folder, `${name}.mp4`)).bytes());
      await using encoder: Encoder = await publisher(server.ingestUrl(stream.streamKey), { clip });
      await targets.ends(pushed, ['connected']);
      const [connection] = far.connections(secret(name));
      await until('media', () => connection.heard.length > 200, { within: 20_000 });
      expect(encoder.isRunning, encoder.log).toBe(true);
      await encoder[Symbol.asyncDispose]();
      await targets.ends(pushed, ['disconnected']);
      expect(targets.told(pushed)).toEqual(['connected', 'disconnected']);
      // Byte for byte, without a gap. This machine's ffmpeg may be too old to read such FLV.
      for (const [type, kind] of [
        [9, 'video'],
        [8, 'audio'],
      ] as const) {
        const sent = clip.tags.filter((tag) => tag.type === kind).map(({ body }) => hashOf(body));
        const got = connection.heard.filter((one) => one.type === type).map(({ body }) => hashOf(body));
        const header = hashOf((kind === 'video' ? clip.videoHeader : clip.audioHeader) ?? new Uint8Array());
        expect(got[0], kind).toBe(header);
        const media = got.slice(1);
        expect(media.length, kind).toBeGreaterThan(60);
        const from = sent.indexOf(media[0]);
        const expected = media.map((_, n) => sent[(from + n) % sent.length]);
        expect(media, kind).toEqual(expected);
        if (kind === 'video') expect(clip.tags.filter((tag) => tag.type === kind)[from]?.isKey).toBe(true);
      }
      await keep(stream, [pushed]);
    }
  }, 120_000);

  test.concurrent('RTMPS: a certificate that is trusted, and one that is not', async () => {
    const secret = secrets();
    const { good: cert, expired, key } = certificates;
    await using trusted = startFarSide({ host: '127.0.0.1', tls: { cert, key } });
    await using untrusted = startFarSide({ host: '127.0.0.1', tls: { cert: expired, key } });
    const yes = await targets.create('trusted', { url: trusted.url(secret('trusted')) });
    const no = await targets.create('untrusted', { url: untrusted.url(secret('untrusted')) });
    const stream = await targets.createStream('rtmps', [yes, no]);
    await using encoder = numbered(server.ingestUrl(stream.streamKey));
    await targets.ends(yes, ['connected']);
    await targets.ends(no, ['error']);
    const [connection] = trusted.connections(secret('trusted'));
    await until('three seconds of media', () => connection.heard.length > 220, { within: 20_000 });
    await encoder.stop();
    await targets.ends(yes, ['disconnected']);
    expect([targets.told(yes), plain(targets.told(no))]).toEqual([['connected', 'disconnected'], ['error']]);
    expectAll(await checkReceived(connection.heard), encoder);
    expect(untrusted.connections(secret('untrusted'))).toEqual([]);
    await keep(stream, [yes, no]);
  }, 120_000);

  test.skipIf(!hasSrt).concurrent(
    'SRT with a passphrase: what arrives is what was sent, and no program of ours shows the URL',
    async () => {
      const secret = secrets();
      const [port] = await findFreePorts(1);
      const file = join(folder, 'srt.ts');
      const passphrase = secret('passphrase');
      const listener = startSrtListener({ host: places.srt, port, passphrase, file });
      await using _ = listener;
      const url = `srt://${places.srt}:${port}?passphrase=${passphrase}&streamid=${secret('srt')}`;
      const pushed = await targets.create('srt', { url });
      const stream = await targets.createStream('srt', [pushed]);
      await using encoder = numbered(server.ingestUrl(stream.streamKey));
      await targets.ends(pushed, ['connected'], { within: 60_000 });
      expect(commandsBelow(server.pid)).toContain('ffmpeg');
      // The address that was checked is there, as it is in every list of connections; no more of the URL is.
      expect(commandsBelow(server.pid)).not.toMatch(/k3y-|5ecr3t/);
      const { sent } = encoder;
      await until('four seconds of media', () => encoder.sent > sent + 120, { within: 20_000 });
      await encoder.stop();
      await targets.ends(pushed, ['disconnected']);
      await listener.ended();
      expect(targets.told(pushed)).toEqual(['connected', 'disconnected']);
      const { streams } = await probe(file);
      const video = streams.find(({ codec_type }) => codec_type === 'video');
      expect(streams.map(({ codec_name }) => codec_name).toSorted()).toEqual(['aac', 'h264']);
      // SRT gives up what is too late; what ffmpeg and its listener read to find out what there is may be lost at the ends.
      const pictures = Number(video?.nb_read_frames);
      console.log(`SRT: ${pictures} of ${encoder.sent} pictures`);
      expect(pictures).toBeGreaterThan(encoder.sent - sent - 60);
      expect(pictures).toBeLessThanOrEqual(encoder.sent);
      expect(await complaints(file)).toBe('');
      await keep(stream, [pushed]);
    },
    120_000,
  );

  givesNothingAway(() => Object.values(places));
});

function hashOf(bytes: Uint8Array): string {
  return String(Bun.hash(bytes));
}

/** Command lines of a process and its children, as everybody on the machine can read them. */
function commandsBelow(pid: number): string {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children].map((id) => readFileSync(`/proc/${id}/cmdline`, 'latin1')).join('\n');
}
