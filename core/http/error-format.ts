import type { TSchema } from '@sinclair/typebox';
import type { Fault } from '../base/fault.ts';

/** How the errors of a plugin's routes are written, in the form of another API. */
export interface ErrorFormat<Config = never> {
  /**
   * Paths that are the plugin's alone, such as `/mux`: whatever is wrong with a request below one of them is answered in this form
   * too, such as an unknown path. Default: none, only its own routes.
   */
  below?(config: Config): readonly string[];
  /** Of the JSON body, for `/openapi.json`. */
  readonly schema: TSchema;
  /**
   * The answer to a fault, with its status. Its `problems` are for people and hold no secrets. Send `retryAfter`, where there is one,
   * as `Retry-After`. Must not throw: the answer would be that of all other routes.
   */
  answer(fault: Fault, request: Request): Response;
}

/** The form of an error: that of the plugin with the route, or with the path. `route`: its pattern, undefined where there is none. */
export type ErrorForms = (
  request: Request,
  route: string | undefined,
) => Pick<ErrorFormat, 'answer'> | undefined;

/** Whether a path is another one or lies below it. */
export function isAtOrBelow(pathname: string, folder: string): boolean {
  return pathname === folder || pathname.startsWith(`${folder}/`);
}
