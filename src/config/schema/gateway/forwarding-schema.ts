import { z } from 'zod';
import { ForwardingRules, foldName } from '../../../http/index.ts';
import { token } from '../scalars/index.ts';

const NAME = 'expected the name of a header field such as X-Real-IP';

/** Fields that cannot be listed, because the gateway needs them to understand a request. */
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

/** The name of a field that only trusted proxies may send. */
function removed() {
  return token(NAME).refine(name => !READ_OF_EVERY_REQUEST.has(foldName(name)), {
    error: 'the gateway reads this field in every request: remove it from the list',
  });
}

/** The rules for header fields that hold in every configuration. */
export const RULES_BY_DEFAULT = new ForwardingRules({ own: ['via'] }).table;

/** The name of a field that anyone may send. */
function kept() {
  return token(NAME).refine(
    name => [undefined, 'origin', 'forwarded', 'caller'].includes(RULES_BY_DEFAULT.get(name)),
    {
      error: 'the gateway always writes or removes this field, so it cannot be kept: remove it from the list',
    },
  );
}

const both = z.strictObject({
  remove: z
    .array(removed())
    .prefault([])
    .describe(
      'Additional header fields that only trusted proxies may send; from anyone else they are removed.',
    ),
  keep: z
    .array(kept())
    .prefault([])
    .describe(
      'Header fields that would otherwise be removed but that anyone may send, because your services use them with another meaning.',
    ),
});

/** `forwarding_headers` of gateway.yaml: a list says what to remove. */
export const forwardingHeadersSchema = z
  .union([z.array(removed()).transform(remove => ({ remove, keep: [] as string[] })), both], {
    error: 'expected a list of header fields such as [X-Tenant], or a map such as { keep: [X-Host] }',
  })
  .prefault({});
