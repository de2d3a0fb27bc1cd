/**
 * What describes a video as an ERC-1155 token (EIP-1155, "Metadata"): a document of our own, changed by what the caller says
 * as by a JSON Merge Patch (RFC 7396): objects merge, `null` deletes, everything else replaces. Arrays are not merged.
 */
export function metadataOf(
  video: { readonly name: string; readonly url: string },
  given: Readonly<Record<string, unknown>> = {},
): unknown {
  const { name, url } = video;
  const own = { name, description: `Video: ${name}`, animation_url: url, properties: { video: url } };
  return merged(own, given);
}

/** No key is ever assigned to: `__proto__` in a document is a key like any other. */
function merged(base: unknown, change: unknown): unknown {
  if (!isObject(change)) return change;
  const result = new Map(isObject(base) ? Object.entries(base) : []);
  for (const [key, value] of Object.entries(change)) {
    if (value === null) result.delete(key);
    else result.set(key, merged(result.get(key), value));
  }
  return Object.fromEntries(result);
}

function isObject(value: unknown): value is object {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
