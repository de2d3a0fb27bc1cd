import { byteRange } from '../../core/http/file-answer.ts';

/**
 * Asks for random ranges of a file, odd and wrong ones too, and compares what comes with `whole`. Throws at the first
 * answer that is not as RFC 9110 §14 says; resolves with how many were right.
 */
export async function fuzzRanges(
  url: string,
  { whole, times }: { whole: Buffer; times: number },
): Promise<number> {
  let right = 0;
  for (let i = 0; i < times; i += 1) {
    const range = anyRange(whole.length);
    const answer = await fetch(url, { headers: { range } });
    const bytes = Buffer.from(await answer.bytes());
    const asked = byteRange(range, whole.length);
    const expected =
      asked === 'whole'
        ? { status: 200, range: null, bytes: whole }
        : asked === 'beyond'
          ? { status: 416, range: `bytes */${whole.length}`, bytes: undefined }
          : {
              status: 206,
              range: `bytes ${asked.from}-${asked.to - 1}/${whole.length}`,
              bytes: whole.subarray(asked.from, asked.to),
            };
    const isRight =
      answer.status === expected.status &&
      answer.headers.get('content-range') === expected.range &&
      (expected.bytes === undefined || bytes.equals(expected.bytes));
    if (!isRight)
      throw new Error(
        `${range}: ${answer.status} ${answer.headers.get('content-range')} and ${bytes.length} bytes, not ${expected.status} ${expected.range} and ${expected.bytes?.length}`,
      );
    right += 1;
  }
  return right;
}

function anyRange(size: number): string {
  const place = () => Math.floor(Math.random() * size * 1.02);
  const near = () => Math.max(0, [0, 1, size - 1, size, size + 1][Math.floor(Math.random() * 5)]);
  const any = () => (Math.random() < 0.3 ? near() : place());
  const from = any();
  const kinds = [
    () => `bytes=${from}-${any()}`,
    () => `bytes=${from}-${from + Math.floor(Math.random() * 5000)}`,
    () => `bytes=${from}-`,
    () => `bytes=-${any()}`,
    () => `bytes=${from}-${from}`,
    () => ['bytes=', 'bytes=-', 'bytes=x-1', 'items=0-1', `bytes=0-1,${from}-`, 'bytes=1-0'][from % 6],
  ];
  return kinds[Math.floor(Math.random() * kinds.length)]();
}
