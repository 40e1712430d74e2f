import { claimsIn } from '../policies/index.ts';
import type { GatewayConfig, LimitsConfig } from '../schema/index.ts';

/** Lists the claims that one feature reads of a verified token, beside those that `access_tokens` is about. */
type ClaimNaming = (config: GatewayConfig, limits: LimitsConfig) => readonly string[];

const NAMINGS: readonly ClaimNaming[] = [
  ({ routes }) => routes.flatMap(({ request_headers: edits }) => claimsIn(edits)),
];

/** The claims that a caller keeps of its token, since the configuration names them: each once, in order. */
export function namedClaims(config: GatewayConfig, limits: LimitsConfig): readonly string[] {
  return [...new Set(NAMINGS.flatMap(naming => naming(config, limits)))].sort();
}
