import * as hosted from './hosted.ts';
import type { Imitation } from './imitation.ts';
import * as selfHosted from './self-hosted.ts';

export type { Imitation };

/** All that is imitated, in the order of the table in docs/providers.md. */
export const IMITATIONS: readonly Imitation[] = [
  ...[selfHosted.KEYCLOAK_ROW, selfHosted.KEYCLOAK_SPLIT],
  ...[hosted.ENTRA_ONE, hosted.ENTRA_KEY, hosted.ENTRA_LISTED, hosted.ENTRA_ANY, hosted.ENTRA_V1],
  ...[hosted.AUTH0_ROW, hosted.OKTA_SECRET, hosted.OKTA_KEY, hosted.COGNITO, hosted.GOOGLE_ACCOUNTS],
  ...[selfHosted.ZITADEL_ROW, selfHosted.AUTHENTIK_ROW, selfHosted.HYDRA_JWT, selfHosted.DUENDE_ROW],
  ...[
    selfHosted.PING_ROW,
    selfHosted.AM_ROW,
    selfHosted.ADFS_ROW,
    selfHosted.GITLAB_ROW,
    selfHosted.KUBERNETES_ROW,
  ],
];
