import type { NoticeKind } from '../../core/index.ts';
import { parseRoutePattern } from '../../routing/index.ts';
import { asMap, type ConfigFile, type Path } from '../file/index.ts';
import { NOTICE_KINDS } from '../model/index.ts';
import { listenSchema } from '../schema/index.ts';
import { noticeRoutesIn, writtenProviders } from './notice-places.ts';
import { isOfOnePath, signInRoutesIn } from './sign-in-checks.ts';

/** Checks the `notices` of each provider. Reads the raw value, as all cross-checks do. */
export function checkNotices(file: ConfigFile): void {
  for (const { path, issuer, notices } of writtenProviders(file)) {
    for (const kind of NOTICE_KINDS) {
      const place = notices[kind];
      const at = [...path, 'notices', kind];
      if (place === 'admin') checkAdmin(file, at, issuer);
      else if (place !== null) checkPath(file, at, kind, place);
    }
  }
}

function checkAdmin(file: ConfigFile, path: Path, issuer: unknown): void {
  const listen = listenSchema.safeParse(asMap(file.value).listen ?? {});
  if (!listen.success) return;
  const { admin } = listen.data;
  if (admin === null) file.add(path, 'there is no admin listener: "listen.admin" is off');
  else if (isLoopback(admin.address.host) && !isLoopback(hostOf(issuer)))
    file.add(
      path,
      `the provider cannot reach the admin listener, which is bound to ${admin.address.host}: bind "listen.admin" to an address that only your network reaches`,
      { severity: 'warning' },
    );
}

function checkPath(file: ConfigFile, path: Path, kind: NoticeKind, place: string): void {
  const own = parseRoutePattern(place, null);
  if (signInRoutesIn(file).some(({ pattern }) => isOfOnePath(pattern, own)))
    file.add(path, 'this path is that of a sign-in endpoint: choose another');
  // Reported once, at the second of the two.
  const other = noticeRoutesIn(file).find(
    ({ value, pattern }) => value.notice !== kind && isOfOnePath(pattern, own),
  );
  if (other !== undefined && kind === 'back_channel_logout')
    file.add(path, `this path is that of "${other.value.notice}": choose another`);
  if (kind === 'not_before_push' && !place.endsWith('/k_push_not_before'))
    file.add(
      path,
      'Keycloak only calls paths that end in /k_push_not_before, which it adds to the admin URL of the client',
      { severity: 'warning' },
    );
}

function hostOf(issuer: unknown): string {
  return typeof issuer === 'string' && URL.canParse(issuer) ? new URL(issuer).hostname : '';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
