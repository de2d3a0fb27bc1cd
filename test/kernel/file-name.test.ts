import { expect, it } from 'vitest';
import { contentDisposition } from '../../core/http/file-name.ts';

const disposition = (name: string) => contentDisposition(name, { ending: 'mp4' });

it.each([
  ['Friday show', 'filename="Friday show.mp4"'],
  ['film.mp4', 'filename="film.mp4"'],
  ['FILM.MP4', 'filename="FILM.mp4"'],
  ['film.mov', 'filename="film.mov.mp4"'],
  ['', 'filename="video.mp4"'],
  ['...', 'filename="video.mp4"'],
  ['.mp4', 'filename="video.mp4"'],
  ['../../etc/passwd', 'filename="_.._etc_passwd.mp4"'],
  ['C:\\boot.ini', 'filename="C__boot.ini.mp4"'],
  ['a"; filename="evil.exe', 'filename="a_; filename=_evil.exe.mp4"'],
  ['a\r\nSet-Cookie: x=1', 'filename="a__Set-Cookie_ x=1.mp4"'],
  ['a\u0000b\u007fc\u0085d', 'filename="a_b_c_d.mp4"'],
  ['exe.\u202e4pm', 'filename="exe._4pm.mp4"'],
  ['NUL', 'filename="_NUL.mp4"'],
  ['con.txt', 'filename="_con.txt.mp4"'],
  ['COM1', 'filename="_COM1.mp4"'],
  ['a\ud800b', 'filename="a_b.mp4"'],
  ['100%41', `filename="100_41.mp4"; filename*=UTF-8''100%2541.mp4`],
  ['Übung', `filename="_bung.mp4"; filename*=UTF-8''%C3%9Cbung.mp4`],
  [
    "it's (a) 日本*",
    `filename="it's (a) ___.mp4"; filename*=UTF-8''it%27s%20%28a%29%20%E6%97%A5%E6%9C%AC_.mp4`,
  ],
])('%j is %s', (name, expected) => {
  expect(disposition(name)).toBe(`inline; ${expected}`);
});

it('is cut to what file systems take, in whole characters', () => {
  const [, plain = ''] = /filename="([^"]*)"/.exec(disposition('a'.repeat(500))) ?? [];
  expect(plain).toBe(`${'a'.repeat(200)}.mp4`);
  const [, text = ''] = /filename\*=UTF-8''(.*)/.exec(disposition('🎬'.repeat(200))) ?? [];
  expect(decodeURIComponent(text)).toBe(`${'🎬'.repeat(50)}.mp4`);
});

it('is a header that can be sent, whatever the name', () => {
  for (let code = 0; code < 0x3000; code += 1) {
    const value = disposition(`x${String.fromCharCode(code)}y`);
    expect(value).toMatch(/^[\x20-\x7e]*$/);
    expect(new Headers({ 'content-disposition': value }).get('content-disposition')).toBe(value);
  }
});
