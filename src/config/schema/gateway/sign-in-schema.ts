import { z } from 'zod';

import { choice } from '../plain-values.ts';
import { ownPath } from '../scalars/index.ts';

/** The paths of `sign_in`. sign-in-checks.ts takes them one by one, as the cross-checks do with the keys of a route. */
export const signInPaths = {
  refresh: ownPath()
    .optional()
    .describe('The path where clients trade a refresh token for new tokens, such as /v1/users/refresh.'),
  sign_out: ownPath()
    .optional()
    .describe(
      'The path where clients sign out, such as /v1/users/sign-out: access tokens of the session are refused at once, and the refresh token is ended at the provider.',
    ),
};

/** `sign_in` of gateway.yaml. */
export const signInSchema = z
  .strictObject({
    ...signInPaths,
    sign_out_ends: choice(['refresh_token', 'session', 'nothing'])
      .prefault('refresh_token')
      .describe(
        "What sign_out ends at the provider. refresh_token: that token, at the revocation endpoint (RFC 7009). session: the browser's session as well, in Keycloak's way, at the end-session endpoint. nothing: for a provider that has neither.",
      ),
  })
  .refine(({ refresh, sign_out }) => refresh !== undefined || sign_out !== undefined, {
    error: 'names no endpoint: add "refresh" or "sign_out", or leave out "sign_in"',
  })
  .optional()
  .describe(
    'Endpoints that the gateway serves for clients that signed in through it, beside the two anonymous ones, on paths of your choice. Left out: none.',
  );

export type SignInConfig = z.output<typeof signInSchema>;
