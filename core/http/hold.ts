/**
 * Disables the idle timeout for this request: for one that may be silent for long and bounds its own time. Call what it returns
 * before the request is answered, because the connection may carry others after it.
 */
export function hold(request: Request): () => void {
  const held: { isHeld?: boolean } = request as Request & { isHeld?: boolean };
  held.isHeld = true;
  return () => {
    held.isHeld = false;
  };
}
