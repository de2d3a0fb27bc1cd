import type { ForeignFilm } from '../../../../core/ports/inspector.ts';

/**
 * The file is not what it should be. The message is plain words that follow "the file was refused: ", name the culprit
 * and what was expected. It never leaves this folder: `inspectFile` makes a value of it.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** It is a film, but in another container, or with other codecs: a converter may make of it what it should be. */
export class ForeignRefusal extends Refusal {
  readonly foreign: ForeignFilm;

  constructor(message: string, foreign: ForeignFilm) {
    super(message);
    this.foreign = foreign;
  }
}
