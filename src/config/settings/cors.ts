import { z } from 'zod';
import { reuseInSteps, type Steps } from '../../core/index.ts';
import type { CorsRules } from '../../wire/http/index.ts';
import type { KeptModels } from '../kept-parts.ts';
import type { RouteOfFile } from '../model/index.ts';
import { RouteTable } from '../routing/index.ts';
import { doorAsWhole, duration, httpToken, list, means, wordOr, yesOrNo } from '../values/index.ts';
import { preflightRoutes } from './compile-routes.ts';
import { takesProofs } from './dpop.ts';
import { identity } from './identity.ts';
import { routes } from './routes.ts';
import { setting } from './setting.ts';
import { SIGN_IN_PREFIX } from './sign-in.ts';

/** An origin as browsers write it (RFC 6454, 6.2): a scheme, a host in lower case and a port that is not the default. */
function origin() {
  const error =
    'expected an origin such as https://app.example.com, in lower case and without a path, or any in place of the list';
  return z
    .string({ error })
    .regex(/^[a-z][a-z0-9+.-]*:\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/, { error, abort: true })
    .refine(text => !/^(http:.*:80|https:.*:443)$/.test(text), {
      error: 'browsers leave out the default port: write the origin without it',
    });
}

const origins = z.array(origin()).min(1, { error: 'an empty list allows no page: leave out "cors" instead' });

const rules = z
  .strictObject({
    ...means('door', {
      origins: z
        .union([z.literal('any'), origins], {
          error: 'expected any, or a list of origins such as [https://app.example.com]',
        })
        .transform(list => (list === 'any' ? null : list))
        .describe('The origins whose pages may call: a list such as [https://app.example.com], or any.'),
    }),
    allow_headers: wordOr(
      'any',
      z.array(
        httpToken('expected the name of a header field such as Authorization, or any in place of the list'),
      ),
      'expected any, or a list of header fields such as [Authorization, Content-Type]',
    )
      .prefault('any')
      .describe('Header fields that pages may send, Authorization included; or any.'),
    expose_headers: list(
      httpToken('expected the name of a header field such as Location'),
      'expected a list of header fields such as [Location, Upload-Offset]',
    ).describe(
      "Header fields of responses that pages may read, besides the gateway's own and those that the service names in Access-Control-Expose-Headers.",
    ),
    credentials: yesOrNo(false).describe(
      'Whether browsers may send cookies. Not allowed with "origins: any"; bearer tokens do not need it.',
    ),
    max_age: duration({ min: '0s', otherwise: '1h' }).describe(
      'How long a browser may cache the response to a preflight.',
    ),
  })
  .refine(({ origins, credentials }) => origins !== null || !credentials, {
    path: ['credentials'],
    error:
      'list the origins when credentials is true: with "any", every web page could act on behalf of its visitors',
  });

/** `cors`: how preflights are answered; `null` if they are ordinary requests. */
export const cors = setting({
  keys: {
    cors: doorAsWhole(
      z
        .union([z.literal('off'), rules], {
          error: 'expected off, or a map such as { origins: [https://app.example.com] }',
        })
        .prefault('off'),
    ).describe(
      'Which web pages of other origins may call the gateway from a browser. off: preflights are ordinary requests.',
    ),
  },
  *compile({ cors }, { limits: { headers }, written, compiled, before }): Steps<CorsPart> {
    const { entries } = (yield* compiled(routes)).keptRoutes;
    const keptPreflights = yield* reuseInSteps(before?.keptPreflights, entries, function* () {
      const ofServices = cors === 'off' ? [] : yield* preflightRoutes(entries);
      return yield* RouteTable.inSteps(ofServices, [SIGN_IN_PREFIX]);
    });
    const preflights = { keptPreflights, preflightRoutes: keptPreflights.part };
    if (cors === 'off') return { cors: null, ...preflights };
    const { origins, allow_headers: allowHeaders, expose_headers: exposeHeaders } = cors;
    const { credentials, max_age: maxAgeMs } = cors;
    const maxAgeS = Math.floor(maxAgeMs / 1_000);
    const proofs = takesProofs(written(identity).access_tokens);
    const policies = headers.includes('ratelimit');
    const rules = { allowHeaders, exposeHeaders, credentials, maxAgeS, policies, proofs };
    return { cors: { origins: origins && new Set(origins), ...rules }, ...preflights };
  },
});

interface CorsPart extends Pick<KeptModels, 'keptPreflights'> {
  readonly cors: CorsRules | null;
  /** Routes whose services answer preflights, by the requested method; empty if `cors` is off. */
  readonly preflightRoutes: RouteTable<RouteOfFile>;
}
