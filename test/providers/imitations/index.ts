import * as hosted from './hosted.ts';
import type { Imitation, ProviderRow } from './imitation.ts';
import * as selfHosted from './self-hosted.ts';

export type { Imitation, ProviderRow };

/** All that is imitated. */
export const IMITATIONS: readonly Imitation[] = [
  ...[selfHosted.KEYCLOAK_ROW, selfHosted.KEYCLOAK_SPLIT],
  ...[hosted.ENTRA_ONE, hosted.ENTRA_KEY, hosted.ENTRA_LISTED, hosted.ENTRA_ANY, hosted.ENTRA_V1],
  ...[hosted.EXTERNAL_ID, hosted.B2C_ROW],
  ...[
    hosted.AUTH0_ROW,
    hosted.OKTA_SECRET,
    hosted.OKTA_KEY,
    hosted.COGNITO,
    hosted.GOOGLE_ACCOUNTS,
    hosted.GOOGLE_USERS,
    hosted.FIREBASE_ROW,
    hosted.SUPABASE_ROW,
    hosted.CLERK_ROW,
  ],
  ...[
    selfHosted.ZITADEL_ROW,
    selfHosted.AUTHENTIK_ROW,
    selfHosted.HYDRA_JWT,
    selfHosted.HYDRA_OPAQUE,
    selfHosted.DEX_ROW,
    selfHosted.DUENDE_ROW,
    hosted.LOGTO_ROW,
    selfHosted.CASDOOR_ROW,
    selfHosted.UAA_ROW,
  ],
  ...[
    selfHosted.PING_ROW,
    selfHosted.AM_ROW,
    selfHosted.ADFS_ROW,
    selfHosted.GITLAB_ROW,
    hosted.GITHUB_ROW,
    selfHosted.KUBERNETES_ROW,
  ],
];

/** The rows of the table in docs/providers.md. */
export const ROWS: readonly ProviderRow[] = [...IMITATIONS, selfHosted.OIDC_PROVIDER];

export const { DEX_ROW, HYDRA_JWT, HYDRA_OPAQUE, OIDC_PROVIDER } = selfHosted;
export const { GOOGLE_USERS } = hosted;
