/** What is sent to a webhook: the event as the event stream has it, and whose it is. */
export function deliveryBody(eventBody: string, webhookId: string): string {
  const { id, ...rest } = JSON.parse(eventBody) as { id: string } & Record<string, unknown>;
  return JSON.stringify({ id, webhookId, ...rest });
}
