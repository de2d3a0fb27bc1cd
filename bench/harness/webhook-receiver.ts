/** Takes webhooks on a free port; `delays` has, for each, the milliseconds from its event to its last byte. */
export function webhookReceiver() {
  const delays: number[] = [];
  const server = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0 },
    async fetch(request) {
      const at = Date.now();
      const { createdAt } = (await request.json()) as { createdAt: number };
      delays.push(at - createdAt);
      return new Response(null, { status: 204 });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/`, delays, stop: () => server.stop(true) };
}
