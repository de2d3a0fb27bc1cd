import { services } from '../../core/plugin/services.ts';
import type { TaskContext } from '../../machines/task.ts';
import type { TasksKit } from './config.ts';

type Secret = TaskContext['secret'];

/** The secret of a task as it is stored: one sealed text. */
export function sealedSecret(
  id: string,
  { secret, kit }: { secret: Secret; kit: Pick<TasksKit, 'use'> },
): Secret {
  if (secret === null) return null;
  return { sealed: kit.use(services.secrets).seal(JSON.stringify(secret), contextOf(id)) };
}

/** As its maker gave it. Older versions stored it in plain text. Undefined: it cannot be decrypted. */
export function openedSecret(
  { task: { id }, secret }: TaskContext,
  kit: Pick<TasksKit, 'use'>,
): Secret | undefined {
  const sealed = secret?.sealed;
  if (typeof sealed !== 'string') return secret;
  const text = kit.use(services.secrets).open(sealed, contextOf(id));
  return text === undefined ? undefined : (JSON.parse(text) as Secret);
}

function contextOf(taskId: string): string {
  return `task/${taskId}/secret`;
}
