/** Bytes in UTF-8 without the ending; file systems take 255. */
const longest = 200;

/**
 * `Content-Disposition` of a file that is shown in place and saved under the name of its object (RFC 6266). A stranger may have
 * chosen that name, so it must not hold a path, a device, another ending, or characters that change the text direction.
 * @param ending without its dot
 */
export function contentDisposition(name: string, { ending }: { ending: string }): string {
  const file = fileName(name, ending);
  const plain = file.replace(/[^\x20-\x7e]|[%"\\]/g, '_');
  const plainly = `inline; filename="${plain}"`;
  return plain === file ? plainly : `${plainly}; filename*=UTF-8''${extended(file)}`;
}

/** The name that a file is saved under: nothing of it is a path, a device, or hides another ending. */
export function fileName(name: string, ending: string): string {
  const clean = name.toWellFormed().replace(unfit, '_').replace(/\s+/g, ' ');
  const has = clean.toLowerCase().endsWith(`.${ending}`);
  const bare = has ? clean.slice(0, -ending.length - 1) : clean;
  const stem = shortened(bare.replace(edges, '')).replace(edges, '');
  const usable = stem === '' ? 'video' : devices.test(stem) ? `_${stem}` : stem;
  return `${usable}.${ending}`;
}

/** At most `longest` bytes, whole characters. */
function shortened(text: string): string {
  let bytes = 0;
  const kept = [...text].filter((character) => {
    bytes += Buffer.byteLength(character);
    return bytes <= longest;
  });
  return kept.join('');
}

/** RFC 8187 §3.2.1. */
function extended(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Control characters, separators of paths, what Windows refuses, and what changes the direction or hides. */
const unfit = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\ufffd/\\:*?"<>|]/gu;
const edges = /^[. ]+|[. ]+$/g;
const devices =
  /^(con|prn|aux|nul|com[\d\u00b9\u00b2\u00b3]|lpt[\d\u00b9\u00b2\u00b3]|conin\$|conout\$)($|[. ])/i;
