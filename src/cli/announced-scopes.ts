import { type Diagnostic, didYouMean, type LoadedConfig, type WrittenRoute } from '../config/index.ts';
import type { System } from '../core/index.ts';
import { announcedScopes } from '../signin/index.ts';

/** How long a check waits for the providers, at most: they may be out of reach from here. */
const MAX_WAIT_MS = 3_000;

/**
 * Hints at scopes that routes require and that no provider announces in its discovery document. Asks nobody if no route requires any.
 * Gives no hints unless every provider answers. They are only hints, since providers need not announce every scope (OpenID Connect
 * Discovery 1.0, 3).
 */
export async function hintsAtScopes(
  { snapshot: { identity, outline } }: LoadedConfig,
  system: Pick<System, 'clock' | 'network'>,
): Promise<readonly Diagnostic[]> {
  const requiring = outline.routes.filter(({ value }) => (value.requirement?.scopes.length ?? 0) > 0);
  if (identity === null || requiring.length === 0) return [];
  const all = await Promise.all(
    identity.providers.map(({ provider }) =>
      announcedScopes({ ...provider, timeoutMs: Math.min(provider.timeoutMs, MAX_WAIT_MS) }, system),
    ),
  );
  if (all.some(scopes => scopes === null)) return [];
  const announced = [...new Set(all.flatMap(scopes => scopes ?? []))];
  return requiring.flatMap(route => hintsAt(route, announced));
}

function hintsAt({ value, place }: WrittenRoute, announced: readonly string[]): Diagnostic[] {
  const missing = (value.requirement?.scopes ?? []).filter(scope => !announced.includes(scope));
  return missing.map(scope => ({
    file: place.file,
    line: place.line,
    column: 1,
    message: `no provider announces the scope "${scope}" that this route requires${didYouMean(scope, announced)}: callers may not be able to get it`,
    severity: 'hint',
  }));
}
