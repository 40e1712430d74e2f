import { z } from 'zod';
import {
  ForwardingRules,
  foldName,
  includesName,
  isKeepable,
  SENT_FIELDS,
  type SentField,
} from '../../wire/http/index.ts';
import type { ConfigFile } from '../file/index.ts';
import { claimFieldsIn, listedHeaders, RULES_BY_DEFAULT } from '../policies/index.ts';
import { fieldNames, list, word } from '../values/index.ts';
import { takesProofs } from './dpop.ts';
import { identity } from './identity.ts';
import { routes } from './routes.ts';
import { setting } from './setting.ts';
import { tracing } from './tracing.ts';

const NAME =
  'expected the name of a header field such as X-Real-IP, or the beginning of several such as X-Corp-*';

/** Fields that cannot be listed, because the gateway needs them to interpret requests. */
const READ_OF_EVERY_REQUEST = new Set([
  'authorization',
  'connection',
  'content-length',
  'expect',
  'host',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-request-id',
]);

/** The name of a field that only trusted proxies may send, or of several. */
function removed() {
  return fieldNames(NAME).refine(name => !READ_OF_EVERY_REQUEST.has(foldName(name)), {
    error: 'the gateway reads this field in every request: remove it from the list',
  });
}

/** The name of a field that anyone may send, or of several. */
function kept() {
  return fieldNames(NAME).refine(
    name => [undefined, 'origin', 'forwarded', 'caller', 'internal'].includes(RULES_BY_DEFAULT.get(name)),
    {
      error: 'the gateway always writes or removes this field, so it cannot be kept: remove it from the list',
    },
  );
}

const both = z.strictObject({
  remove: list(removed()).describe(
    'Additional header fields that only trusted proxies may send, in this spelling; from anyone else they are removed. X-Corp-* means all that begin with X-Corp-.',
  ),
  keep: list(kept()).describe(
    'Header fields that would otherwise be removed but that anyone may send, because your services use them with another meaning. X-Consumer-* means all that begin with X-Consumer-.',
  ),
  send: list(word(SENT_FIELDS)).describe(
    "Fields that the gateway writes: X-Real-IP has the client's address, X-Forwarded-Port the port that it asked (that of a trusted proxy stays), X-Forwarded-Prefix and X-Script-Name what strip_prefix takes away.",
  ),
});

export const forwardingHeaders = setting({
  keys: {
    // A list says what to remove.
    forwarding_headers: z
      .union(
        [
          z.array(removed()).transform(remove => ({ remove, keep: [] as string[], send: [] as SentField[] })),
          both,
        ],
        {
          error: 'expected a list of header fields such as [X-Tenant], or a map such as { keep: [X-Host] }',
        },
      )
      .prefault({})
      .describe(
        'Additional header fields that only trusted proxies may send, like X-Forwarded-* and X-Real-IP; from anyone else they are removed. As a map: fields to remove, fields to keep that would otherwise be removed, and fields that the gateway sends.',
      ),
  },
  compile({ forwarding_headers: { send, ...listed } }, { written, certificateFields }) {
    const { access_tokens: tokens, api_keys: keys } = written(identity);
    return {
      sentFields: send.length === 0 ? null : send,
      forwarding: new ForwardingRules({
        ...listed,
        traces: written(tracing).tracing !== null,
        certificate: tokens?.certificate_field ?? null,
        apiKey: keys?.header ?? null,
        proofs: takesProofs(tokens),
        own: [
          ...Object.keys(tokens?.identity_headers ?? {}),
          ...send.filter(name => name !== 'X-Forwarded-Port'),
          ...written(routes).routes.flatMap(({ request_headers: edits }) => claimFieldsIn(edits)),
          ...certificateFields,
        ],
      }),
    };
  },
  // Checks the two lists against each other, and against what is removed anyway.
  check(_, file) {
    const { remove, keep, send } = listedHeaders(file);
    checkSent(file, send, { remove, keep });
    const known = new Set(remove.map(foldName));
    for (const [index, name] of keep.entries()) {
      const path = ['forwarding_headers', 'keep', index];
      if (known.has(foldName(name)))
        file.add(path, `${file.shown(path)} is also listed under "remove": keep one of the two`);
      else if (RULES_BY_DEFAULT.get(name) === undefined && !isKeepable(name, remove))
        file.warn(path, 'nothing removes this field: leave it out');
    }
  },
});

/** Reports fields that the gateway sends if they are listed twice, or if others may send them as well. */
function checkSent(
  file: ConfigFile,
  send: readonly string[],
  others: Readonly<Record<'remove' | 'keep', readonly string[]>>,
): void {
  for (const [index, name] of send.entries())
    if (send.indexOf(name) < index)
      file.add(['forwarding_headers', 'send', index], 'this field is named twice: keep one');
  for (const [key, names] of Object.entries(others))
    for (const [index, name] of names.entries())
      if (send.some(sent => includesName(name, sent)))
        file.add(
          ['forwarding_headers', key, index],
          'the gateway sends this field: remove it from this list',
        );
}
