import { describe, expect, it } from 'vitest';
import { picturesWithPass, variantOf, withPass } from '../../core/hls/with-pass.ts';

const pass = { token: () => 'abc' };

async function read(body: Awaited<ReturnType<typeof withPass>>): Promise<string> {
  return new Response(body).text();
}

describe('a playlist', () => {
  it('carries the pass in every URI, and in nothing else', async () => {
    const live = [
      '#EXTM3U',
      '#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5',
      '#EXT-X-MAP:URI="p_init0.mp4"',
      '#EXT-X-PROGRAM-DATE-TIME:2026-11-28T00:00:00.000Z',
      '#EXTINF:2.00000,',
      'p_seg7.mp4',
      '#EXT-X-PART:DURATION=0.5,URI="p_part8.0.mp4",INDEPENDENT=YES',
      '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p_part8.1.mp4"',
      '#EXT-X-RENDITION-REPORT:URI="r1.m3u8?dvr=1",LAST-MSN=7',
      '#EXT-X-MEDIA:TYPE=SUBTITLES,NAME="A URI=here",URI="https://elsewhere.example/t.m3u8"',
      '//elsewhere.example/seg.mp4',
      '',
    ].join('\n');
    expect((await read(await withPass(live, pass))).split('\n')).toEqual([
      '#EXTM3U',
      '#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5',
      '#EXT-X-MAP:URI="p_init0.mp4?token=abc"',
      '#EXT-X-PROGRAM-DATE-TIME:2026-11-28T00:00:00.000Z',
      '#EXTINF:2.00000,',
      'p_seg7.mp4?token=abc',
      '#EXT-X-PART:DURATION=0.5,URI="p_part8.0.mp4?token=abc",INDEPENDENT=YES',
      '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p_part8.1.mp4?token=abc"',
      '#EXT-X-RENDITION-REPORT:URI="r1.m3u8?dvr=1&token=abc",LAST-MSN=7',
      '#EXT-X-MEDIA:TYPE=SUBTITLES,NAME="A URI=here",URI="https://elsewhere.example/t.m3u8"',
      '//elsewhere.example/seg.mp4',
      '',
    ]);
  });

  it('of a day comes in slices, with nothing lost between them', async () => {
    const lines = Array.from({ length: 43_200 }, (_, number) => `#EXTINF:2.00000,\nseg${number}.mp4\n`);
    const text = `#EXTM3U\n${lines.join('')}#EXT-X-ENDLIST\n`;
    const made = await withPass(text, pass);
    expect(made).toBeInstanceOf(ReadableStream);
    expect(await read(made)).toBe(text.replaceAll('.mp4\n', '.mp4?token=abc\n'));
  });

  it.each([2160, 1080, 719])(
    'with maxHeight %d leaves out what is higher, and the pass names what is left',
    async (maxHeight) => {
      const variants = [
        ['3840x2160', 'source.m3u8'],
        ['1920x1080', 'r1.m3u8?dvr=1'],
        ['854x480', 'r2.m3u8'],
      ];
      const stream = ([size, uri]: string[]) => `#EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=${size}\n${uri}\n`;
      const text = `#EXTM3U\n#EXT-X-MEDIA:TYPE=SUBTITLES,URI="t1.m3u8"\n${variants.map(stream).join('')}`;
      const left = variants.filter(([size]) => Number(size.split('x')[1]) <= maxHeight);
      const made = await read(
        await withPass(text, { maxHeight, token: (numbers = []) => numbers.join('-') }),
      );
      const token = left.map(([, uri]) => (uri.startsWith('source') ? 0 : Number(uri[1]))).join('-');
      expect(made.match(/RESOLUTION=\S+/g)).toEqual(left.map(([size]) => `RESOLUTION=${size}`));
      expect(made.match(/token=.*/gm)).toHaveLength(left.length + 1);
      expect(made).toContain(`URI="t1.m3u8?token=${token}"`);
    },
  );

  it('in which nothing is low enough is none', async () => {
    const text = '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=640x360\nsource.m3u8\n';
    expect(await withPass(text, { ...pass, maxHeight: 240 })).toBeUndefined();
  });
});

it('the cues of a storyboard carry it before their fragment', async () => {
  const text = 'WEBVTT\n\n00:00.000 --> 00:02.000\nstoryboard.jpg#xywh=0,0,256,144\n';
  expect(await picturesWithPass(text, pass)).toContain('\nstoryboard.jpg?token=abc#xywh=0,0,256,144\n');
  const words = 'WEBVTT\n\n00:00.000 --> 00:02.000\nSee my picture.jpg and weep.\n';
  expect(await picturesWithPass(words, pass)).toBe(words);
});

it.each([
  ['source.m3u8', 0],
  ['dvr.m3u8', 0],
  ['r12.m3u8', 12],
  ['seg7.mp4', 0],
  ['r1seg7.mp4', 1],
  ['0123456789ab_seg7.mp4', 0],
  ['0123456789ab_part7.1.mp4', 0],
  ['0123456789ab_r3_seg7.mp4', 3],
  ['0123456789ab_r3_part7.1.mp4', 3],
  ['0123456789ab_dvr4.mp4', 0],
  ['init0.mp4', 'shared'],
  ['r1init0.mp4', 'shared'],
  ['0123456789ab_init0.mp4', 'shared'],
  ['0123456789ab_r3_init0.mp4', 'shared'],
  ['0123456789ab_dvrinit0.mp4', 'shared'],
  ['index.m3u8', 'shared'],
  ['t1.m3u8', 'shared'],
  ['text_en.vtt', 'shared'],
  ['0123456789ab_t1_seg4.vtt', 'shared'],
  ['source.mp4', undefined],
  ['r1.m3u8x', undefined],
  ['rseg1.mp4', undefined],
  ['../source.m3u8', undefined],
] as const)('%s belongs to the variant %s', (file, variant) => {
  expect(variantOf(file)).toBe(variant);
});
