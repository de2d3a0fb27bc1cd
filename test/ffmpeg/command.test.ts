import { expect, it } from 'vitest';
import { argumentsOf, type FfmpegCommand, hiddenText } from '../../runtime/media/ffmpeg/command.ts';

const told = (command: FfmpegCommand) => argumentsOf(command, { hides: true });

it('reads its input from the pipe alone, in the format that it was told, and speaks one protocol', () => {
  const given = told({
    input: { format: 'flv', options: { analyzeduration: 500_000 } },
    output: { target: 'srt://192.0.2.1:9000', format: 'mpegts', protocol: 'srt', options: { c: 'copy' } },
    hasReports: true,
  });
  expect(given).toEqual([
    ...['-hide_banner', '-nostdin', '-nostats', '-loglevel', 'error', '-max_alloc', '268435456'],
    ...['-protocol_whitelist', 'pipe', '-analyzeduration', '500000', '-f', 'flv', '-i', 'pipe:0'],
    ...['-protocol_whitelist', 'srt', '-c', 'copy', '-f', 'mpegts', '-progress', 'pipe:1'],
    'srt://192.0.2.1:9000',
  ]);
});

it('makes one argument of a value, whatever is in it', () => {
  const values = ['two words', 'a -i /etc/passwd', '', '-y', "'", '$(id)', ' lead', 'a  b'];
  for (const value of values) {
    const given = told({
      input: { format: 'flv', options: { x: value } },
      output: { target: 'pipe:1', format: 'mpegts', protocol: 'pipe', options: { other: value } },
    });
    expect(given[given.indexOf('-x') + 1]).toBe(value);
    expect(given[given.indexOf('-other') + 1]).toBe(value);
    expect(given.filter((one) => one === '-i')).toHaveLength(1);
  }
});

it('holds nothing of what is hidden', () => {
  const given = told({
    input: { format: 'flv' },
    output: { target: 'pipe:1', format: 'mpegts', protocol: 'pipe', hidden: { passphrase: 'not-for-you' } },
  });
  expect(given.join(' ')).not.toContain('not-for-you');
  expect(given).toContain('-fpre');
});

it('has what would be hidden among its arguments where ffmpeg reads it from nowhere else', () => {
  const given = argumentsOf(
    {
      input: { format: 'flv' },
      output: {
        target: 'pipe:1',
        format: 'mpegts',
        protocol: 'pipe',
        hidden: { passphrase: 'two words', mode: 'caller' },
      },
    },
    { hides: false },
  );
  expect(given).not.toContain('-fpre');
  expect(given.slice(given.indexOf('-passphrase'), given.indexOf('-passphrase') + 4)).toEqual([
    ...['-passphrase', 'two words', '-mode', 'caller'],
  ]);
  expect(given.at(-1)).toBe('pipe:1');
});

it('writes hidden options as lines, and refuses what would be a line of its own', () => {
  expect(hiddenText({ passphrase: 'a=b c#d', latency: 200_000 })).toBe(
    'passphrase=a=b c#d\nlatency=200000\n',
  );
  for (const value of ['a\nvcodec=x', 'a\rb', 'a\0b', '', 'x'.repeat(900)]) {
    expect(hiddenText({ streamid: value }), JSON.stringify(value)).toBeUndefined();
  }
  expect(hiddenText({ 'a b': 1 })).toBeUndefined();
});
