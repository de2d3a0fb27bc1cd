/** An attribute list, RFC 8216bis 4.2, without the quotes. */
export function attributes(list: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name, value] of list.matchAll(/([A-Z0-9-]+)=("[^"]*"|[^,]*)/g)) {
    must(!found.has(name), `attribute ${name} once`);
    found.set(name, value.replace(/^"|"$/g, ''));
  }
  return found;
}

/** Throws when a rule of a playlist or of its media is broken. */
export function must(isTrue: boolean, rule: string): void {
  if (!isTrue) throw new Error(`rule broken: ${rule}`);
}
