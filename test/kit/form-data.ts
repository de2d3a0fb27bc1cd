/** One part of a body of multipart/form-data. */
export interface FormPart {
  readonly name: string;
  readonly filename?: string;
  readonly type?: string;
  readonly bytes: Buffer;
}

/**
 * Takes a body of multipart/form-data apart (RFC 7578, RFC 2046 §5.1), as strictly as any receiver may: nothing before the first
 * boundary or behind the last, CRLF alone, a name in each part, no header but the two that a part may have, none of it twice.
 */
export function formParts(contentType: string | undefined, body: Buffer): FormPart[] {
  const [, boundary] =
    /^multipart\/form-data; boundary=([0-9A-Za-z'()+_,./:=?-]{1,70})$/.exec(contentType ?? '') ?? [];
  if (boundary === undefined) throw new Error(`content type ${contentType}`);
  const parts: FormPart[] = [];
  const expect = (text: string, at: number): number => {
    const found = body.toString('latin1', at, at + text.length);
    if (found !== text) throw new Error(`expected ${JSON.stringify(text)}, not ${JSON.stringify(found)}`);
    return at + text.length;
  };
  let at = expect(`--${boundary}`, 0);
  while (body.toString('latin1', at, at + 2) !== '--') {
    at = expect('\r\n', at);
    const endOfHead = body.indexOf('\r\n\r\n', at);
    if (endOfHead < 0) throw new Error('a part without an end of its head');
    const head = headOf(body.toString('utf8', at, endOfHead).split('\r\n'));
    at = endOfHead + 4;
    const end = body.indexOf(`\r\n--${boundary}`, at);
    if (end < 0) throw new Error('a part without an end');
    parts.push({ ...head, bytes: body.subarray(at, end) });
    at = end + boundary.length + 4;
  }
  at = expect('--\r\n', at);
  if (at !== body.length) throw new Error(`${body.length - at} bytes behind the end`);
  const names = parts.map(({ name }) => name);
  if (new Set(names).size !== names.length) throw new Error(`twice: ${names}`);
  return parts;
}

function headOf(lines: readonly string[]): Omit<FormPart, 'bytes'> {
  const [disposition = '', type, ...others] = lines;
  const match = /^Content-Disposition: form-data; name="([^"\r\n%]+)"(?:; filename="([^"\r\n%/\\]+)")?$/.exec(
    disposition,
  );
  if (!match || others.length > 0) throw new Error(`the head of a part: ${JSON.stringify(lines)}`);
  const [, name, filename] = match;
  if (type !== undefined && !/^Content-Type: [a-z]+\/[a-z0-9.+-]+$/.test(type)) throw new Error(type);
  return { name, ...(filename !== undefined && { filename }), ...(type && { type: type.slice(14) }) };
}
