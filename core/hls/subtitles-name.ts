/** A name for people in an attribute of a playlist, as it came. Throws RangeError. */
export function checkedName(name: string): string {
  if (typeof name === 'string' && namePattern.test(name) && name.isWellFormed()) return name;
  throw new RangeError(
    'the name of a text track has 1 to 64 characters, without quotes and control characters',
  );
}

const namePattern = /^[^"\p{Cc}\p{Zl}\p{Zp}]{1,64}$/u;

/** A language by BCP 47, in its usual spelling. Throws RangeError. */
export function checkedLanguage(language: string): string {
  try {
    if (typeof language === 'string' && language.length <= mostLanguage)
      return Intl.getCanonicalLocales(language)[0];
  } catch {}
  throw new RangeError('the language of a text track is a tag by BCP 47, such as "en" or "pt-BR"');
}

/** RFC 5646 4.4.1: room for any tag in use. */
const mostLanguage = 35;
