import { expect, test } from 'vitest';
import { bareGateway } from '../../../support/bare-gateway.ts';

type Members = Readonly<Record<string, unknown>>;

/** The configuration of tokens, claims over those of alice, and the status with the claim that was missed. */
test.each<[string, Members, Members, (number | string)[]]>([
  ['of a user is client and subject', {}, {}, [200]],
  ['of a user needs the subject', {}, { sub: undefined }, [401, 'claim sub']],
  ['of a user needs the client', {}, { azp: undefined }, [401, 'claim azp']],
  ['of a bot is the client alone', {}, { client_id: 'app', sub: undefined }, [200]],
  ['of a bot needs the client', {}, { client_id: 'app', azp: undefined }, [401, 'claim azp']],
  ['of a user is what the configuration says', { principal: ['sub'] }, { azp: undefined }, [200]],
  [
    'of a bot is what the configuration says',
    { bots: { claim: 'client_id', principal: ['client_id'] } },
    { client_id: 'app', azp: undefined, sub: undefined },
    [200],
  ],
  [
    'is no bot’s where nobody is a bot',
    { bots: 'none' },
    { client_id: 'app', sub: undefined },
    [401, 'claim sub'],
  ],
  ['is no bot’s where its claim is empty', {}, { client_id: '', sub: undefined }, [401, 'claim sub']],
  ['is no bot’s where its claim is false', {}, { client_id: false, sub: undefined }, [401, 'claim sub']],
  ['is no bot’s where its claim is null', {}, { client_id: null, sub: undefined }, [401, 'claim sub']],
  [
    'is a bot’s where its claim has the value asked for',
    { bots: { claim: 'kind', value: 'bot' } },
    { kind: 'bot', sub: undefined },
    [200],
  ],
  [
    'is a bot’s where its claim lists the value asked for',
    { bots: { claim: 'roles', value: 'bot' } },
    { roles: ['a', 'bot'], sub: undefined },
    [200],
  ],
  [
    'is no bot’s where its claim has another value',
    { bots: { claim: 'kind', value: 'bot' } },
    { kind: 'robot', sub: undefined },
    [401, 'claim sub'],
  ],
])('a principal %s', async (_, tokens, claims, expected) => {
  const bare = await bareGateway({}, { tokens });
  const { status } = await bare.ask('GET /things', { as: claims });
  const refused = bare.records[0]?.tokenRefused ?? null;
  expect([status, ...(refused === null ? [] : [`${refused.reason} ${refused.claim}`])]).toEqual(expected);
});
