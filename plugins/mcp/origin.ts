import { Fault, type Principal } from '../../sdk/plugin.ts';

/**
 * Refuses a page whose host name anybody could let point to this server (DNS rebinding): for a browser it is a page of this server. Pages
 * of other origins were refused before, unless the key names them. Throws 403 `auth.origin_not_allowed`.
 */
export function refuseForeignPage(
  request: Request,
  { principal, publicUrl }: { readonly principal: Principal; readonly publicUrl: string },
): void {
  const origin = request.headers.get('origin');
  if (origin === null) return;
  const allowed = principal.access.cors?.allowedOrigins ?? [];
  if (allowed.includes(origin) || allowed.includes('*')) return;
  // Not what `Host` says: that is what the page's name made it.
  if (
    URL.canParse(origin) &&
    (new URL(origin).host === new URL(publicUrl).host || isAddress(new URL(origin).hostname))
  )
    return;
  throw new Fault('auth.origin_not_allowed', {
    status: 403,
    message: `This server is not used from pages of ${origin}. Set publicUrl to its address, or name the origin in access.cors.allowedOrigins of the key.`,
  });
}

/** No name stands for an address, and browsers resolve `localhost` themselves. */
function isAddress(hostname: string): boolean {
  return hostname === 'localhost' || hostname.startsWith('[') || /^\d{1,3}(\.\d{1,3}){3}$/.test(hostname);
}
