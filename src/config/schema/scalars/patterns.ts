import { z } from 'zod';
import { PatternError, parseGrpcPattern, parseRoutePattern } from '../../../routing/index.ts';
import { parseLimitRoute } from '../limit-route.ts';
import { hasHost, NOT_THERE_YET } from '../other-words.ts';
import { GRPC_PATTERN, LIMIT_ROUTE_PATTERN, PATH_PATTERN } from './editor-patterns.ts';
import { messageOf, refuseQuoting } from './refuse.ts';

/** A route's path, checked by the parser of patterns. */
export function routePath() {
  return z
    .string({ error: 'expected a path such as /v1/things/{id} or /v1/**' })
    .meta({ pattern: PATH_PATTERN })
    .superRefine((path, context) => {
      const message = hasHost(path) ? HOST : messageOf(PatternError, () => parseRoutePattern(path, null));
      if (message !== null)
        refuseQuoting(context, message.replace(`path "${path}": `, ''), 'a path such as /v1/things/{id}');
    });
}

const HOST = `a path has no host: routes by host are ${NOT_THERE_YET}`;

/** The gRPC calls of a route, checked by the parser of patterns. */
export function grpcRoute() {
  return z
    .string({ error: GRPC_EXPECTED })
    .meta({ pattern: GRPC_PATTERN })
    .superRefine((text, context) => {
      const message = messageOf(PatternError, () => parseGrpcPattern(text));
      if (message !== null) refuseQuoting(context, message, GRPC_EXPECTED.replace('expected ', ''));
    });
}

const GRPC_EXPECTED = 'expected package.Service/Method or package.Service/*';

/** A line of `routes:` in limits.yaml, which is the key of a map. */
export function limitRoute() {
  return z
    .string()
    .meta({ pattern: LIMIT_ROUTE_PATTERN })
    .superRefine((line, context) => {
      const message = messageOf(PatternError, () => parseLimitRoute(line));
      if (message !== null) context.addIssue({ code: 'custom', message: `is not a route: ${message}` });
    });
}

/**
 * A token (RFC 9110, 5.6.2), such as the name of a header field or an authorization scheme. Excludes "*", which the RFC allows
 * but nothing uses: here it would look like a pattern.
 */
export function token(error: string) {
  return z.string({ error }).regex(/^[A-Za-z0-9!#$%&'+.^_`|~-]+$/, { error, abort: true });
}
