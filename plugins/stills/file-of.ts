import { Fault } from '../../core/base/fault.ts';
import { preconditions } from '../../core/http/preconditions.ts';
import { stillsLimits } from './limits.ts';

/** Answers with a small file that never changes under its tag (RFC 9110 §13). Fault `file.changed` (412). */
export function fileOf(
  request: Request,
  { body, etag, type }: { body: Uint8Array<ArrayBuffer> | string; etag: string; type: string },
): Response {
  const headers = {
    etag: `"${etag}"`,
    'cache-control': `public, max-age=${stillsLimits.age.value}`,
    'x-content-type-options': 'nosniff',
  };
  const condition = preconditions(request.headers, { etag });
  if (condition === 'failed')
    throw new Fault('file.changed', {
      status: 412,
      message: 'The picture is another one than was asked for.',
    });
  if (condition === 'unchanged') return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, 'content-type': type } });
}
