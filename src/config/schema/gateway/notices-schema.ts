import { z } from 'zod';

import { ownPath } from '../scalars/index.ts';

const EXPECTED = 'expected admin, or a path of your choice on the public listeners that begins with "/"';

/** `admin`, or a path on the public listeners. */
function place() {
  return z
    .string({ error: EXPECTED })
    .regex(/^(?:admin$|\/)/, { error: EXPECTED, abort: true })
    .superRefine((written, context) => {
      if (written === 'admin') return;
      const { error } = ownPath().safeParse(written);
      for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message });
    });
}

/** The keys of `notices`. notice-checks.ts takes them one by one, as the cross-checks do with the keys of a route. */
export const noticeKeys = {
  not_before_push: place()
    .optional()
    .describe(
      "Keycloak's not-before push. admin: POST /notices/k_push_not_before on the admin listener; or a public path that ends in /k_push_not_before.",
    ),
  back_channel_logout: place()
    .optional()
    .describe(
      'Logout tokens (OpenID Connect Back-Channel Logout). admin: POST /notices/back_channel_logout on the admin listener; or a public path.',
    ),
};

/** `notices` of a provider. */
export const noticesSchema = z
  .strictObject(noticeKeys)
  .prefault({})
  .describe(
    'What the provider may tell the gateway unasked, and where: that tokens or sessions are revoked. Left out: nothing, nowhere.',
  );

export type NoticesConfig = z.output<typeof noticesSchema>;
