import { serve } from './serve.ts';

/** The thread that owns the database. */
serve(globalThis as unknown as Worker);
