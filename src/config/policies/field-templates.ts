import { type Caller, claimOf, fieldValueOf, percentEncode } from '../../identity/auth/index.ts';

type Part = string | Placeholder;

type Placeholder =
  | { readonly kind: 'request_id' | 'client_address' | 'route' }
  | { readonly kind: 'claim'; readonly claim: string };

export interface FieldValues {
  readonly requestId: string;
  readonly arrival: { readonly client: { readonly address: string } };
  readonly caller: Caller | null;
}

export class TemplateError extends Error {}

const PLACEHOLDERS = '{request_id}, {client_address}, {route} or {claim.NAME}';
const KINDS = ['request_id', 'client_address', 'route'] as const;

/** The value of a header field that a route sets, with placeholders. Compiled once. */
export class FieldTemplate {
  readonly #parts: readonly Part[];

  /** @param text throws a TemplateError if it contains a brace that is not part of a placeholder */
  constructor(text: string) {
    this.#parts = text
      .split(/(\{[^{}]*\})/)
      .filter(part => part !== '')
      .map(partOf);
  }

  get claims(): readonly string[] {
    return this.#parts.flatMap(part =>
      typeof part === 'object' && part.kind === 'claim' ? [part.claim] : [],
    );
  }

  /** How long its value stays the same: always, for one caller, or for one request. */
  get holdsFor(): 'always' | 'caller' | 'request' {
    const kinds = new Set(this.#parts.map(part => (typeof part === 'string' ? 'text' : part.kind)));
    if (kinds.has('request_id') || kinds.has('client_address')) return 'request';
    return kinds.has('claim') ? 'caller' : 'always';
  }

  get placeholders(): readonly string[] {
    return this.#parts.flatMap(part => (typeof part === 'string' ? [] : [written(part)]));
  }

  /** Returns the value for a request; `null` if a placeholder has none. */
  render(route: string, values: FieldValues): string | null {
    let text = '';
    for (const part of this.#parts) {
      const value = typeof part === 'string' ? part : renderPlaceholder(part, route, values);
      if (value === null) return null;
      text += value;
    }
    return text;
  }
}

function partOf(text: string): Part {
  if (!/[{}]/.test(text)) return text;
  const name = text.slice(1, -1);
  const kind = KINDS.find(each => each === name);
  if (kind !== undefined) return { kind };
  if (name.startsWith('claim.') && name !== 'claim.')
    return { kind: 'claim', claim: name.slice('claim.'.length) };
  throw new TemplateError(`"${text}" is not a placeholder: write ${PLACEHOLDERS}`);
}

function written(placeholder: Placeholder): string {
  return placeholder.kind === 'claim' ? `{claim.${placeholder.claim}}` : `{${placeholder.kind}}`;
}

function renderPlaceholder(
  part: Placeholder,
  route: string,
  { requestId, arrival, caller }: FieldValues,
): string | null {
  switch (part.kind) {
    case 'request_id':
      return requestId;
    case 'client_address':
      return percentEncode(arrival.client.address);
    case 'route':
      return percentEncode(route);
    case 'claim':
      return caller === null ? null : fieldValueOf(claimOf(caller, part.claim));
  }
}
