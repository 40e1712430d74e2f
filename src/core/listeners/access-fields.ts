import { ERROR_SIDES, GATEWAY_CAPS, UPSTREAM_CAPS } from '../error.ts';
import { INVALID_REASONS } from './auth-listener.ts';
import { CONSUMED_LIMITS, OUTCOMES, PROTOCOLS, RESTRICTED_BY, SCOPES_OF_429 } from './events.ts';
import { DECISION_OUTCOMES } from './limit-listener.ts';

/** What a field contains, in terms of JSON Schema. */
interface FieldSchema {
  readonly type:
    | 'string'
    | 'integer'
    | 'number'
    | 'boolean'
    | 'array'
    | 'object'
    | readonly ['string' | 'number', 'null'];
  /** A closed list of words; for an array, the words that it may contain. */
  readonly words?: readonly string[];
  /** The type of each member of an object. */
  readonly values?: 'string' | 'integer';
  readonly format?: 'date-time';
  readonly pattern?: RegExp;
}

interface FieldDeclaration {
  readonly holds: FieldSchema;
  /**
   * Which lines have it. `every`: those of an admission and of an end; `end`: those of an end; `some` and `some ends`: those of
   * these lines to which it applies.
   */
  readonly on: 'every' | 'end' | 'some' | 'some ends';
  /** The description in the docs, as Markdown. */
  readonly text: string;
}

const TEXT = { type: 'string' } as const;
const TEXT_OR_NULL = { type: ['string', 'null'] } as const;
const WHOLE = { type: 'integer' } as const;
const NUMBER = { type: 'number' } as const;
const NUMBER_OR_NULL = { type: ['number', 'null'] } as const;
const GROUPS = { type: 'object', values: 'string' } as const;
const NUMBERS = { type: 'object', values: 'integer' } as const;
const TRUE = { type: 'boolean' } as const;

/** Makes the schema of a field with one word of a closed list. */
function word<const Word extends string>(words: readonly Word[]) {
  return { type: 'string', words } as const;
}

const field =
  <On extends FieldDeclaration['on']>(on: On) =>
  <const Holds extends FieldSchema>(holds: Holds, text: string) => ({ holds, on, text });
const every = field('every');
const atEnd = field('end');
const some = field('some');
const atSomeEnds = field('some ends');

/**
 * The fields of the access log, in the order of a line. The source of the names for the writer, of the contents for `weir
 * simulate` and `weir suggest`, and of the table in the docs and the JSON Schema.
 */
export const ACCESS_FIELDS = {
  level: every(word(['info']), 'always `info`'),
  time: every({ type: 'string', format: 'date-time' }, 'when the line was written'),
  type: every(
    word(['access', 'admission']),
    '`access`: the request has ended; `admission`: it lasts more than a second',
  ),
  instance: every(TEXT, 'the process, a random name for each start'),
  keyId: every(TEXT, 'the key of the pseudonyms: lines with the same `keyId` give a caller the same name'),
  requestId: every(TEXT, 'as in `X-Request-Id`, on the response and upstream'),
  traceId: some(TEXT, 'the trace of the request, with [`tracing`](tracing.md)'),
  arrivedAt: every(WHOLE, 'when the request head had arrived, in Unix milliseconds'),
  sequence: every(
    WHOLE,
    'the number of the request in this process; with `workers`, each thread counts from another multiple of 2^40',
  ),
  protocol: every(word(PROTOCOLS), 'what the client spoke'),
  method: every(TEXT, 'the method of the request'),
  route: every(TEXT_OR_NULL, 'the route as configured; null if none matched'),
  host: some(
    TEXT,
    'the host of the request, as routes or limits name it: the name itself, or the wildcard that it falls under. Only where [hosts](configuration.md#hosts) are named, and for those',
  ),
  path: some(
    TEXT,
    'what the configuration names in the path, and `{pseudonym}` for each segment that a client chose (not the one that `caller` or `main` would have): `/v1/channels/{BkV2…}/messages`',
  ),
  upstream: every(TEXT_OR_NULL, 'the upstream; null if the request was for none'),
  client: every(TEXT, 'the address of the client'),
  class: every(
    { type: 'string', pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/ },
    'the class that decides the limits of the caller: one of gateway.yaml by its name, else `bot`, `user` or `address`',
  ),
  userAgent: some(
    TEXT,
    'with `log.fields: [user_agent]`: what the client says that it is, at most 256 characters',
  ),
  caller: some(TEXT, 'a pseudonym of the bot or user'),
  groups: some(
    GROUPS,
    'the groups of the caller, by each claim that a `group` of limits.yaml names: pseudonyms',
  ),
  numbers: some(NUMBERS, 'the numbers of the caller, by each claim that sets one in limits.yaml'),
  bucket: some(TEXT_OR_NULL, 'the bucket; null if the route has none'),
  decision: some(word(DECISION_OUTCOMES), 'what the limits decided: `admitted`, or the limit that refused'),
  period: some(TEXT, 'the period of the window that refused, where its limit has several: `1s` or `day`'),
  decidedAt: some(
    WHOLE,
    'when the limits decided, in Unix milliseconds by the clock that they count by; with `restricted`, when the request arrived',
  ),
  draws: some(
    word(CONSUMED_LIMITS),
    'the limits that the request could use, if not all: `global` or `bucket` alone, that of preflights, or `none`',
  ),
  main: some(TEXT, "a pseudonym of the value of the bucket's main parameter"),
  restricted: some(
    word(RESTRICTED_BY),
    'what refused before the limits were checked: a restriction (`address`, `caller`, `webhook`), or `blocked` in limits.yaml',
  ),
  callerUnknown: some(
    TRUE,
    'the request came with a token that was not checked, and that the gateway did not remember',
  ),
  preflight: some(TRUE, "a browser's preflight"),
  spared: some(TRUE, 'a caller under `never_restrict`'),
  webhook: some(TEXT, 'a pseudonym of the webhook'),
  shadow: atSomeEnds(
    { type: 'array', words: DECISION_OUTCOMES.slice(1) },
    'the limits in shadow that would have refused the request',
  ),
  lasted: atSomeEnds(TRUE, 'an `admission` line came before'),
  status: atEnd(WHOLE, 'the status of the response; 0 if none was started'),
  outcome: atEnd(
    word(OUTCOMES),
    '`forwarded`, `answered` by the gateway, `truncated` by the upstream, `abandoned` by the client',
  ),
  grpcStatus: atSomeEnds(
    WHOLE,
    "the number of the status that a gRPC call ended with; `status` is then its HTTP equivalent if the gateway refused the call, else the upstream's",
  ),
  bytesReceived: atEnd(WHOLE, "size of the request's body"),
  bytesSent: atEnd(WHOLE, "size of the response's body"),
  durationMs: atEnd(NUMBER, 'until the last byte of the response'),
  upstreamMs: atEnd(
    NUMBER_OR_NULL,
    'from sending the request upstream to the head of the response; null if there was none',
  ),
  endpoint: atSomeEnds(
    TEXT,
    'the address that the request was sent to last, where the upstream has several, or a name',
  ),
  scope: atSomeEnds(
    word(SCOPES_OF_429),
    "with a service's 429: whose limit it was, as the service said; `shared` if it said nothing. With `shared` it does not count as an invalid request. A [rewritten](contract.md#48-a-services-own-429) one tells the client `shared` in any case",
  ),
  offenceAt: atSomeEnds(
    WHOLE,
    'when the request counted towards a [restriction](limits.md#restrictions), by the clock by which limits count',
  ),
  returnedAt: atSomeEnds(
    WHOLE,
    'when what the request drew was returned: from a [`resource` limit](limits.md), since its service answered 401, 403 or 404, or by `give_back` of its bucket; not with `offenceAt`',
  ),
  price: atSomeEnds(WHOLE, 'what the request cost in the end, if [its response tells it](prices.md)'),
  waitedMs: atSomeEnds(NUMBER, 'how long [`patience`](limits.md#patience) held the request'),
  retried: atSomeEnds(TRUE, 'the request was sent upstream a second time'),
  tokenRefused: atSomeEnds(
    word(INVALID_REASONS),
    'why the token is invalid, as in `weir_tokens_refused_total`',
  ),
  claim: atSomeEnds(TEXT, 'the claim that the token lacks'),
  refusedCaller: atSomeEnds(
    TEXT,
    'whose refused token it was: a pseudonym as in `caller`. The request counted for its address, not for this caller. Left out if that is not known: see [One caller gets 401](runbook.md#one-caller-gets-401)',
  ),
  error: atSomeEnds(TEXT, 'what the gateway told the client'),
  side: atSomeEnds(word(ERROR_SIDES), 'the side that failed'),
  cap: atSomeEnds(
    word([...GATEWAY_CAPS, ...UPSTREAM_CAPS]),
    'with a 503: the cap that was reached, by its key in gateway.yaml',
  ),
  cause: atSomeEnds(
    TEXT,
    "the provider's explanation for refusing a code, or what a token lacks that its route requires",
  ),
} satisfies Readonly<Record<string, FieldDeclaration>>;

export type AccessField = keyof typeof ACCESS_FIELDS;

export type UncheckedLine = Readonly<Partial<Record<AccessField, unknown>>>;

type AccessValue<Field extends AccessField> = (typeof ACCESS_FIELDS)[Field]['holds'] extends infer Schema
  ? Schema extends { words: readonly (infer Word)[] }
    ? Word
    : Schema extends { type: infer Type }
      ? TypeOf<Type>
      : never
  : never;

type TypeOf<Type> = Type extends 'object'
  ? Readonly<Record<string, string | number>>
  : Type extends readonly (infer Each)[]
    ? TypeOf<Each>
    : Type extends 'string'
      ? string
      : Type extends 'boolean'
        ? true
        : Type extends 'null'
          ? null
          : number;

const DECLARATIONS: Readonly<Record<AccessField, FieldDeclaration>> = ACCESS_FIELDS;
const NAMES = Object.keys(ACCESS_FIELDS) as readonly AccessField[];

/** The text before each value in a line: `,"status":`. */
export const ACCESS_KEYS = Object.fromEntries(NAMES.map(name => [name, `,"${name}":`])) as Readonly<
  Record<AccessField, string>
>;

/** Renders each word that a field may contain: `forwarded` as `,"outcome":"forwarded"`. */
export function accessWords<Field extends AccessField>(
  field: Field,
): Readonly<Record<AccessValue<Field> & string, string>> {
  const words = DECLARATIONS[field].holds.words ?? [];
  const rendered = words.map(each => [each, `${ACCESS_KEYS[field]}"${each}"`]);
  return Object.fromEntries(rendered) as Record<AccessValue<Field> & string, string>;
}

export function isAccessValue<Field extends AccessField>(
  field: Field,
  value: unknown,
): value is AccessValue<Field> {
  const { type, words, pattern } = DECLARATIONS[field].holds;
  switch (typeof value) {
    case 'string':
      if (pattern !== undefined && !pattern.test(value)) return false;
      return (type === 'string' || type[0] === 'string') && (words === undefined || words.includes(value));
    case 'number':
      return type === 'integer' ? Number.isSafeInteger(value) : type === 'number' || type[0] === 'number';
    case 'boolean':
      return type === 'boolean' && value;
    default:
      if (value === null) return type[1] === 'null';
      if (type === 'object') return isObjectOf(value, DECLARATIONS[field].holds.values);
      return type === 'array' && Array.isArray(value) && value.every(each => words?.includes(each));
  }
}

function isObjectOf(value: unknown, values: FieldSchema['values']): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(each =>
    values === 'string' ? typeof each === 'string' : Number.isSafeInteger(each),
  );
}

/** Makes the JSON Schema (draft 7) of a line of the access log. Later versions may add fields. */
export function accessLogSchema(): object {
  const on = (...kinds: FieldDeclaration['on'][]) =>
    NAMES.filter(name => kinds.includes(DECLARATIONS[name].on));
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'access-log.schema.json',
    title: 'A line of the access log of Weir',
    type: 'object',
    properties: Object.fromEntries(NAMES.map(name => [name, propertyOf(DECLARATIONS[name])])),
    required: on('every'),
    oneOf: [
      { properties: { type: { const: 'access' } }, required: on('end') },
      {
        properties: {
          type: { const: 'admission' },
          ...Object.fromEntries(on('end', 'some ends').map(name => [name, false])),
        },
      },
    ],
  };
}

function propertyOf({ holds: { words, values, pattern, ...type }, text }: FieldDeclaration): object {
  const description = text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  if (type.type === 'array') return { description, ...type, items: { enum: words } };
  if (values !== undefined) return { description, ...type, additionalProperties: { type: values } };
  if (type.type === 'boolean') return { description, const: true };
  if (pattern !== undefined) return { description, ...type, pattern: pattern.source };
  return { description, ...type, ...(words === undefined ? {} : { enum: words }) };
}
