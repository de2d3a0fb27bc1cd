/** What this browser remembers under a name, as JSON. What is missing or damaged is `fallback`. */
export function stored(name, fallback) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null') ?? fallback;
  } catch {
    return fallback;
  }
}

export function store(name, value) {
  localStorage.setItem(name, JSON.stringify(value));
}
