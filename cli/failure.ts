import { MillraceError } from '../sdk/client/index.ts';
import { exits, Failure } from './command.ts';

/** How a command ends that has thrown this. Undefined: it is an error of the program, whose stack says more. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error;
  if (error instanceof MillraceError) return refused(error);
  // An answer that was cut off, or is none of this program.
  if (error instanceof SyntaxError && /JSON/.test(error.message))
    return new Failure('the server answered with something that is no JSON. Check the URL, and try again.');
  // Of the system, such as a file that is missing or a disk that is full.
  if (error instanceof Error && 'syscall' in error) return new Failure(`${error.message}.`);
  return undefined;
}

function refused({ status, errors, retryAfter }: MillraceError): Failure {
  const said = errors.join(' ');
  if (status === 401)
    return new Failure(
      `the server does not accept the API key. Run \`millrace login\`. (${said})`,
      exits.notAllowed,
    );
  if (status === 403)
    return new Failure(
      `the API key may not do this. Use a key with more access. (${said})`,
      exits.notAllowed,
    );
  if (retryAfter !== undefined) return new Failure(`${said} Try again in ${retryAfter} s.`);
  return new Failure(said);
}
