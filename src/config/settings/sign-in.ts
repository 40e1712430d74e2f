import { z } from 'zod';
import { choice, ownPath } from '../values/index.ts';
import { setting } from './setting.ts';

/** The paths of `sign_in`. check/sign-in-checks.ts uses them one by one, as the cross-checks do with the keys of a route. */
export const signInPaths = {
  refresh: ownPath()
    .optional()
    .describe('The path where clients exchange a refresh token for new tokens, such as /v1/users/refresh.'),
  sign_out: ownPath()
    .optional()
    .describe(
      'The path where clients sign out, such as /v1/users/sign-out: access tokens of the session are refused at once, and the refresh token is ended at the provider.',
    ),
};

export const signIn = setting({
  keys: {
    sign_in: z
      .strictObject({
        ...signInPaths,
        sign_out_ends: choice(['refresh_token', 'session', 'nothing']).describe(
          "What sign_out ends at the provider. refresh_token: that token, at the revocation endpoint (RFC 7009). session: the browser's session as well, in Keycloak's way, at the end-session endpoint. nothing: for a provider that has neither.",
        ),
      })
      .refine(({ refresh, sign_out }) => refresh !== undefined || sign_out !== undefined, {
        error: 'names no endpoint: add "refresh" or "sign_out", or leave out "sign_in"',
      })
      .optional()
      .describe(
        'Additional sign-in endpoints that the gateway serves, in addition to the two under /v1/anonymous, on paths of your choice. Left out: none.',
      ),
  },
  meaning: 'door',
});
