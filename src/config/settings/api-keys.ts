import { z } from 'zod';
import type { ApiKeyLine } from '../../identity/auth/index.ts';
import { foldName, RESERVED_CALL_FIELDS, RESERVED_REQUEST_FIELDS } from '../../wire/http/index.ts';
import { asList, asMap, type ConfigFile, isMap, type RawMap } from '../file/index.ts';
import { listedHeaders, RULES_BY_DEFAULT, roleEntry, roleOf, scopeText } from '../policies/index.ts';
import {
  dateTime,
  doorAsWhole,
  fieldName,
  list,
  means,
  name,
  pathOfFile,
  secrecyOf,
  unshown,
  yesOrNo,
} from '../values/index.ts';
import { className } from './access-tokens.ts';

/** `api_keys`: callers without a provider. compile/read-api-keys.ts reads the file, identity.ts makes the callers. */
export const apiKeyKeys = {
  api_keys: doorAsWhole(
    z.strictObject({
      ...means('door', {
        header: fieldName('X-API-Key')
          .prefault('X-API-Key')
          .describe('The header field in which clients send their key.'),
      }),
      file: pathOfFile().describe(
        'The file with the digests of the keys, a list of lines such as { name: partner-7, sha256: [...] }. Relative to this file.',
      ),
      forward: yesOrNo(false).describe('Whether services get the field. Otherwise it is always removed.'),
    }),
  )
    .optional()
    .describe(
      'API keys, for callers without a provider: routes accept them by "accept". Left out: there are none.',
    ),
};

export function checkApiKeys(written: RawMap, file: ConfigFile): void {
  if (!isMap(written.api_keys)) return;
  checkHeader(written, file);
  const isAccepted = asList(written.routes).some(route => asList(asMap(route).accept).includes('api_key'));
  if (!isAccepted)
    file.addKey(['api_keys'], '"api_keys" has no effect: no route says "accept: [api_key]"', 'warning');
}

/** Reports a field that cannot carry keys, because it already has another use. */
function checkHeader({ api_keys: keys, access_tokens: tokens }: RawMap, file: ConfigFile): void {
  const { header = 'X-API-Key' } = asMap(keys);
  if (typeof header !== 'string') return;
  const { identity_headers: headers, certificate_field: certificate } = asMap(tokens);
  const isSame = (other: unknown) => typeof other === 'string' && foldName(other) === foldName(header);
  const { remove, keep } = listedHeaders(file);
  const add = (message: string) =>
    file.add(file.has(['api_keys', 'header']) ? ['api_keys', 'header'] : ['api_keys'], message);
  if (hasMeaning(header)) add(`"${header}" has a meaning of its own: name another field, such as X-API-Key`);
  else if (Object.keys(asMap(headers)).some(isSame) || isSame(certificate))
    add('access_tokens names this field, too: choose another');
  else if ([...remove, ...keep].some(isSame))
    add('forwarding_headers lists this field, too: remove it from that list');
}

/** Fields of browsers and others, of which no other rule says that they have a use. */
const IN_USE = /^(?:cookie|dpop|origin|referer|access-control-.*|sec-.*)$/;

function hasMeaning(header: string): boolean {
  const rules = [RULES_BY_DEFAULT, RESERVED_REQUEST_FIELDS, RESERVED_CALL_FIELDS];
  return rules.some(table => table.get(header) !== undefined) || IN_USE.test(foldName(header));
}

const DIGEST = 'expected the SHA-256 of a key: 64 hexadecimal digits, as "weir key new" prints them';

const digest = () =>
  unshown(z.string({ error: DIGEST }))
    .refine(text => !text.startsWith('weir_'), {
      error: 'this is a key, which must stand in no file: write its SHA-256, and give out a new key',
      abort: true,
    })
    .regex(/^[0-9A-Fa-f]{64}$/, { error: DIGEST })
    .transform(text => text.toLowerCase());

/** At most two digests: the key in use and the one that follows it. */
const MAX_DIGESTS = 2;
/** More lines than anyone keeps in a file; each is a caller in memory. */
const MAX_LINES = 10_000;

const line = z.strictObject({
  name: name().describe('The name of the caller, in limits.yaml, the log and the admin API.'),
  sha256: z
    .union([digest(), z.array(digest())], { error: DIGEST })
    .transform(written => [written].flat())
    .refine(list => list.length > 0 && list.length <= MAX_DIGESTS, {
      error: `expected a digest, or ${MAX_DIGESTS} while a key is replaced`,
    })
    .describe('The SHA-256 of the key in hex; a list of two while one key replaces another.'),
  class: className()
    .optional()
    .describe('The class whose numbers in limits.yaml it has. Left out: that of its kind.'),
  bot: yesOrNo(false).describe('Whether it counts as a bot and not as a user.'),
  scopes: list(scopeText(), 'expected a list of scopes').describe(
    'The scopes that it has, for "require" of routes.',
  ),
  roles: list(roleEntry, 'expected a list of roles').describe(
    'The roles that it has, for "require" of routes, as they are written there.',
  ),
  not_after: dateTime('2027-01-31T00:00:00Z')
    .optional()
    .describe('When it stops being valid: 2027-01-31T00:00:00Z. Left out: never.'),
});

export const apiKeysFileSchema = z
  .array(line, { error: 'expected a list of lines such as - { name: partner-7, sha256: ... }' })
  .max(MAX_LINES, { error: `at most ${MAX_LINES} keys` });

/** Messages repeat neither digests nor a key that stands in their place. */
export const apiKeysSecrecy = { ...secrecyOf(apiKeysFileSchema), keys: ['sha256', 'key', 'secret'] };

export function apiKeyLines(lines: z.output<typeof apiKeysFileSchema>): ApiKeyLine[] {
  return lines.map(each => ({
    name: each.name,
    digests: each.sha256,
    class: each.class ?? null,
    isBot: each.bot,
    scopes: each.scopes,
    roles: each.roles.map(roleOf),
    notAfterMs: each.not_after ?? null,
  }));
}
