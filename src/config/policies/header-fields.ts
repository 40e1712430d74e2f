import { z } from 'zod';
import { type Fields, withoutFields } from '../../core/index.ts';
import type { Caller } from '../../identity/auth/index.ts';
import { FoldedNames } from '../../wire/http/index.ts';
import { fieldName, mapExpected, mapOf, unshown } from '../values/index.ts';
import { FieldTemplate, type FieldValues, TemplateError } from './field-templates.ts';

// What a route does to the header fields of its requests and responses.

const MAX_LENGTH = 4_096;
const VALUE = 'expected text, in quotes if it is a number, true or false';
const EMPTY = 'an empty value sets nothing: to remove the field, list its name under "remove"';
/** Visible ASCII characters, with blanks between them (RFC 9110, 5.5). */
const VISIBLE = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;

/** A literal header field value. It may come from a variable with a secret, so no message repeats it. */
export function fieldValue() {
  return unshown(
    z
      .string({ error: VALUE })
      .min(1, { error: EMPTY, abort: true })
      .max(MAX_LENGTH, { error: `a value has at most ${MAX_LENGTH} characters` })
      .regex(VISIBLE, { error: 'expected visible ASCII characters, with blanks only between them' }),
  );
}

const LIKE_ONE = /\{(?:request_id|client_address|route|claim\.[^{}]*)\}/;

const literal = fieldValue().refine(text => !LIKE_ONE.test(text), {
  error: 'placeholders work in "request_headers" only: write a fixed value',
});

const template = fieldValue().superRefine((text, context) => {
  try {
    new FieldTemplate(text);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});

/** The keys `set` and `remove` for the fields of one direction. */
function edits<Value extends z.ZodType<string>>(value: Value, example: string, describe: string) {
  return mapOf(`{ set: ${example}, remove: [X-Debug] }`, {
    set: z.record(fieldName('X-Plan'), value, mapExpected(example)).optional().describe(describe),
    remove: z
      .array(fieldName('X-Plan'), { error: 'expected a list of header fields such as [Server]' })
      .optional()
      .describe('Names of fields that are removed.'),
  }).optional();
}

export const requestEditsSchema = edits(
  template,
  '{ X-Plan: gold }',
  'Fields that the upstream gets with these values, and never from a client. {request_id}, {client_address}, {route} and {claim.NAME} stand for what they say; a field whose claim is missing is left out.',
).describe("Changes of its requests' header fields on their way to the upstream. Left out: none.");

export const responseEditsSchema = edits(
  literal,
  '{ X-Frame-Options: DENY }',
  'Fields that every response has with these values, in place of those of the upstream.',
).describe(
  'Changes of the header fields of its responses, those of the gateway itself included. Left out: none.',
);

type EditsConfig = NonNullable<z.output<typeof requestEditsSchema>>;

export function claimsIn(edits: EditsConfig | undefined): readonly string[] {
  return Object.values(edits?.set ?? {}).flatMap(text => new FieldTemplate(text).claims);
}

/** The fields that carry claims to upstreams. A client's own fields of these names are dropped on every route. */
export function claimFieldsIn(edits: EditsConfig | undefined): readonly string[] {
  return Object.entries(edits?.set ?? {}).flatMap(([name, text]) =>
    new FieldTemplate(text).claims.length === 0 ? [] : [name],
  );
}

interface SetField {
  readonly name: string;
  readonly template: FieldTemplate;
}

const NO_FIELDS: Fields = [];

export class RequestEdits {
  /** The fields it sets, as written: name, value, ... */
  readonly set: Fields;
  readonly remove: readonly string[];
  /** For `weir explain`: each name with the placeholders of its value. */
  readonly sources: readonly (readonly [name: string, placeholders: readonly string[]])[];
  readonly #route: string;
  readonly #dropped: FoldedNames;
  readonly #fixed: Fields;
  readonly #ofCaller: readonly SetField[];
  readonly #ofRequest: readonly SetField[];
  /** Cached per caller, since it sends many requests. */
  readonly #rendered = new WeakMap<Caller, Fields>();

  /** @param route the name of the route, for {route} */
  constructor({ set = {}, remove = [] }: EditsConfig, route: string) {
    const fields = Object.entries(set).map(([name, text]) => ({ name, template: new FieldTemplate(text) }));
    const holding = (span: FieldTemplate['holdsFor']) =>
      fields.filter(({ template }) => template.holdsFor === span);
    this.set = Object.entries(set).flat();
    this.remove = remove;
    this.sources = fields.map(({ name, template }) => [name, template.placeholders]);
    this.#route = route;
    this.#dropped = new FoldedNames([...Object.keys(set), ...remove]);
    this.#fixed = renderAll(holding('always'), route, NOBODY);
    this.#ofCaller = holding('caller');
    this.#ofRequest = holding('request');
  }

  /** Returns the fields for the upstream. Fields that the gateway itself writes can be neither set nor removed. */
  apply(fields: Fields, values: FieldValues): Fields {
    const edited = this.#dropped.without(fields);
    for (const part of this.#fixed) edited.push(part);
    if (values.caller !== null) for (const part of this.#fieldsOf(values.caller, values)) edited.push(part);
    if (this.#ofRequest.length > 0)
      for (const part of renderAll(this.#ofRequest, this.#route, values)) edited.push(part);
    return edited;
  }

  #fieldsOf(caller: Caller, values: FieldValues): Fields {
    if (this.#ofCaller.length === 0) return NO_FIELDS;
    const known = this.#rendered.get(caller);
    if (known !== undefined) return known;
    const fields = renderAll(this.#ofCaller, this.#route, values);
    this.#rendered.set(caller, fields);
    return fields;
  }
}

const NOBODY: FieldValues = { requestId: '', arrival: { client: { address: '' } }, caller: null };

function renderAll(fields: readonly SetField[], route: string, values: FieldValues): Fields {
  return fields.flatMap(({ name, template }) => {
    const value = template.render(route, values);
    return value === null ? [] : [name, value];
  });
}

export class ResponseEdits {
  /** Name, value, ... */
  readonly set: Fields;
  readonly remove: readonly string[];
  readonly #setOnOwn: Fields;
  readonly #dropped: ReadonlySet<string>;

  constructor({ set = {}, remove = [] }: EditsConfig) {
    this.set = Object.entries(set).flat();
    this.#setOnOwn = withoutFields(this.set, name => OF_BODIES.has(name.toLowerCase()));
    this.remove = remove;
    this.#dropped = new Set([...Object.keys(set), ...remove].map(name => name.toLowerCase()));
  }

  /** Returns the fields of a service's response for the client, including those that are set. */
  applyToService(fields: Fields): string[] {
    const edited = this.removeFrom(fields);
    for (const part of this.set) edited.push(part);
    return edited;
  }

  /** Returns a new array without the fields that are set or removed. For heads and trailers to which nothing is added. */
  removeFrom(fields: Fields): string[] {
    return withoutFields(fields, name => this.#dropped.has(name.toLowerCase()));
  }

  /** Adds the set fields to a fixed answer, except those that it already has. */
  addToAnswer(fields: string[]): void {
    addMissing(fields, this.set);
  }

  /** Adds set fields to an answer of the gateway itself, except those that describe a service's response. */
  addToOwn(fields: string[]): void {
    addMissing(fields, this.#setOnOwn);
  }
}

/**
 * Fields that describe a body or its caching. If they were set on an error of the gateway, caches would keep that, or browsers
 * would show its JSON as something else.
 */
const OF_BODIES: ReadonlySet<string> = new Set([
  ...['content-type', 'content-encoding', 'content-language', 'content-location', 'content-range'],
  ...['content-disposition', 'content-md5', 'content-digest', 'repr-digest', 'digest', 'accept-ranges'],
  ...['etag', 'last-modified', 'expires', 'cache-control', 'cdn-cache-control', 'surrogate-control', 'age'],
]);

function addMissing(fields: string[], set: Fields): void {
  const names = new Set(fields.filter((_, index) => index % 2 === 0).map(name => name.toLowerCase()));
  for (let i = 0; i + 1 < set.length; i += 2) {
    const name = set[i] as string;
    if (!names.has(name.toLowerCase())) fields.push(name, set[i + 1] as string);
  }
}
