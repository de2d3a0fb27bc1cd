/**
 * The file is not what it should be. The message is plain words that follow "the file was refused: ", name the culprit
 * and what was expected. It never leaves this folder: `inspectFile` makes a value of it.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
