export interface Question {
  account: string;
  key: string;
  body: Record<string, unknown>;
}
export interface Answer {
  isAllowed: boolean;
  reason: string;
}
export function asker(_kit: unknown): (
  question: Question & {
    url: string;
    onError: 'refuse' | 'allow';
    secret: () => Promise<string | undefined>;
  },
) => Promise<Answer> {
  return async () => ({ isAllowed: false, reason: 'stub' });
}
