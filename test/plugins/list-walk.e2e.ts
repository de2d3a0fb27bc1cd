import { describe, it } from 'vitest';
import { walk, walks } from './list-walk.ts';

describe('a walk through 1,000 by sevens while others insert and delete', () => {
  it.each(walks)('sees each that was there throughout exactly once, %s', (_, query) => walk(query, 1000));
});
