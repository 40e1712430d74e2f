import { z } from 'zod';

import { routePath } from '../scalars/index.ts';

/** One path, not a pattern. */
function ownPath() {
  return routePath().refine(path => !/[{*]/.test(path), {
    error: 'an endpoint has one path: write it without {parameters} and **',
  });
}

/** The keys of `sign_in`. sign-in-checks.ts takes them one by one, as the cross-checks do with those of a route. */
export const signInKeys = {
  refresh: ownPath()
    .optional()
    .describe('The path where clients trade a refresh token for new tokens, such as /v1/users/refresh.'),
};

/** `sign_in` of gateway.yaml. */
export const signInSchema = z
  .strictObject(signInKeys)
  .refine(paths => Object.values(paths).some(path => path !== undefined), {
    error: 'names no endpoint: add "refresh", or leave out "sign_in"',
  })
  .optional()
  .describe(
    'Endpoints that the gateway serves for clients that signed in through it, beside the two anonymous ones, on paths of your choice. Left out: none.',
  );

export type SignInConfig = z.output<typeof signInSchema>;
