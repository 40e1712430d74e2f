import type { IdentityModel, NoticeRoute } from '../config/index.ts';
import type { Row } from './row.ts';

/** Describes what the gateway does with what a provider tells it on a public path. */
export function describeNotice({ notice }: NoticeRoute, { providers }: IdentityModel): Row[] {
  const senders = providers.filter(({ notices }) => notices[notice] !== null);
  return [
    ['served by', `the gateway itself: ${SERVED[notice]}`],
    ['authentication', 'a signature by a key of the provider'],
    ...senders.map(({ provider }): Row => ['provider', provider.issuer]),
  ];
}

const SERVED: Readonly<Record<NoticeRoute['notice'], string>> = {
  not_before_push: 'a not-before push of the provider refuses older tokens',
  back_channel_logout: "a logout token of the provider refuses a session's or user's tokens",
};
