import { useEffect, useState } from 'preact/hooks';

let loading;

/** The document of the running server, read once: which routes and events there are depends on its plugins. */
export function openapi() {
  loading ??= fetch('/openapi.json')
    .then((answer) => answer.json())
    .catch((error) => {
      loading = undefined;
      throw error;
    });
  return loading;
}

/** The same for a page; undefined until it is there. */
export function useOpenapi() {
  const [document, setDocument] = useState();
  useEffect(() => {
    openapi().then(setDocument, () => undefined);
  }, []);
  return document;
}

/** Names of the events that a webhook can ask for. */
export function webhookEvents(document) {
  const body = document?.paths['/api/webhook']?.post?.requestBody;
  return body?.content['application/json'].schema.properties.events.items.enum ?? [];
}
