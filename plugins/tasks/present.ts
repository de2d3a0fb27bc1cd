import type { TaskDocument } from './document.ts';

/** The task object, as its owner and events see it. Pure. */
export function presentTask(document: TaskDocument): Record<string, unknown> {
  const { id, type, name, account, createdAt, inputAssetId, outputAssetId, params, output } = document;
  const { phase, updatedAt, progress, errorMessage, retries, createdByTokenName } = document;
  return {
    ...{ id, type, name, userId: account, createdAt },
    ...(inputAssetId !== null && { inputAssetId }),
    ...(outputAssetId !== null && { outputAssetId }),
    ...(createdByTokenName !== null && { createdByTokenName }),
    ...(params !== null && { params: { [type]: params } }),
    ...(output !== null && { output: { [type]: output } }),
    status: {
      ...{ phase, updatedAt, progress },
      ...(errorMessage !== null && { errorMessage }),
      ...(retries > 0 && { retries }),
    },
  };
}
