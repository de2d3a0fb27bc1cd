/** 128 random bits. `crypto.randomUUID` is only there on secure pages, and a dashboard is often opened as `http://192.0.2.7:8080`. */
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
