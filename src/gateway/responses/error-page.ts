import type { Snapshot } from '../../config/index.ts';
import { escapeHtml, type Fields, firstValue, type GatewayError } from '../../core/index.ts';
import type { RenderedResponse } from './render-error.ts';

type Pages = NonNullable<Snapshot['errorPages']>;

/** Turns an error object into the page for browsers, if there is one for this status and the client prefers HTML. */
export function asErrorPage(
  rendered: RenderedResponse,
  { message }: GatewayError,
  {
    pages,
    requestId,
    fields,
  }: { readonly pages: Pages; readonly requestId: string; readonly fields: Fields },
): RenderedResponse {
  const { status } = rendered;
  const page = pages.get(status) ?? pages.get(status < 500 ? '4xx' : '5xx');
  if (page === undefined) return rendered;
  // The response varies with `Accept` even for clients that get no page.
  rendered.fields.push('Vary', 'Accept');
  if (!prefersHtml(fields)) return rendered;
  const values = { status: String(status), message, request_id: requestId };
  const body = page.replace(/\{(status|message|request_id)\}/g, (_, name: keyof typeof values) =>
    escapeHtml(values[name]),
  );
  const others = rendered.fields.slice(FRAMING.length);
  return {
    ...rendered,
    body,
    fields: ['Content-Type', 'text/html; charset=utf-8', 'Content-Length', String(body.length), ...others],
  };
}

/** The first fields of an error object: its type and its length, with their values. */
const FRAMING = ['Content-Type', '', 'Content-Length', ''];

/** Whether a client prefers HTML to JSON (RFC 9110, 12.5.1) and names it: programs that accept anything get the error object. */
export function prefersHtml(fields: Fields): boolean {
  const accept = firstValue(fields, 'accept');
  if (accept === undefined || !/text\/html/i.test(accept)) return false;
  const weights = new Map(accept.split(',').map(readRange));
  const html = weights.get('text/html') ?? 0;
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return html > json;
}

function readRange(text: string): readonly [type: string, weight: number] {
  const [type = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase());
  const weight = parameters.find(parameter => parameter.startsWith('q='))?.slice(2);
  return [type, weight === undefined ? 1 : /^[01](\.\d{0,3})?$/.test(weight) ? Number(weight) : 0];
}
