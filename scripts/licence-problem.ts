/** LGPL and MPL do not reach beyond their own files. */
const strongCopyleft = /^(A?GPL|SSPL|OSL|EUPL|CPAL|RPL|CC-BY-SA|CC-BY-NC)/i;

/** Why a package under this SPDX expression may not be shipped with the program; undefined: it may. */
export function licenceProblem(licence: string | undefined): string | undefined {
  if (licence === undefined) return 'names no licence. Find out which it has, or replace the package.';
  const choices = licence.replaceAll(/[()]/g, '').split(/ OR /i);
  // Where both hold (`AND`), the strict one counts.
  const isFree = (choice: string) =>
    choice.split(/ AND /i).every((part) => !strongCopyleft.test(part.trim()));
  return choices.some(isFree) ? undefined : `${licence} is strong copyleft. Replace the package.`;
}
