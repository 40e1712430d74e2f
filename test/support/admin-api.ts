import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';
import { secret } from './secrets.ts';
import type { TestGateway } from './test-gateway.ts';

export const ADMIN_TOKEN = 'admin-token-of-the-tests-0123456789';

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, object>>;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A client of the admin API that holds every response against the document that the gateway serves. */
export class ApiClient {
  /** The operations called so far. */
  readonly called = new Set<string>();
  readonly document: Description;
  readonly #ajv = new Ajv2020({ strict: false });
  readonly #base: string;

  private constructor(base: string, document: Description) {
    this.#base = base;
    this.document = document;
    formats.default(this.#ajv);
    this.#ajv.addSchema(document, 'openapi');
    secret(ADMIN_TOKEN);
  }

  static async of(gateway: TestGateway): Promise<ApiClient> {
    const { text } = await gateway.admin('/openapi.json');
    return new ApiClient(`http://127.0.0.1:${gateway.adminPort}`, JSON.parse(text));
  }

  /** The ids of all operations that are described. */
  get described(): string[] {
    const items = Object.values(this.document.paths).flatMap(item => Object.values(item));
    return items.flatMap(({ operationId }) => operationId ?? []);
  }

  /** What is wrong with the document by the schema of OpenAPI. */
  async errors(): Promise<unknown> {
    return (await new Validator().validate({ ...structuredClone(this.document) })).errors ?? [];
  }

  /** `token`: null sends none. */
  async call(
    method: string,
    target: string,
    { body, token = ADMIN_TOKEN, headers = {} }: CallOptions = {},
  ): Promise<ApiAnswer> {
    return this.callAt(this.#base, method, target, {
      headers: {
        ...(token !== null && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  }

  /** The same of a server that the document describes too. */
  async callAt(base: string, method: string, target: string, init: RequestInit): Promise<ApiAnswer> {
    // A connection that is kept may be closed by the server just as it is used again.
    const headers = new Headers(init.headers);
    headers.set('Connection', 'close');
    const response = await fetch(base + target, { method, ...init, headers });
    const text = await response.text();
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    this.#check(method, target.split('?')[0] ?? '', response.status, body);
    return { status: response.status, headers: response.headers, body };
  }

  #check(method: string, path: string, status: number, body: unknown): void {
    const template = Object.keys(this.document.paths).find(each =>
      new RegExp(`^${each.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
    const name = method.toLowerCase();
    const operation = template === undefined ? undefined : this.document.paths[template]?.[name];
    if (template === undefined || operation === undefined) return;
    this.called.add(operation.operationId);
    expect(Object.keys(operation.responses), `${method} ${path}`).toContain(String(status));
    if (body === undefined) return;
    const at = ['paths', template, name, 'responses', status, 'content', 'application/json', 'schema'];
    const pointer = at.map(each => String(each).replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
    const validate = this.#ajv.compile({ $ref: `openapi#/${encodeURI(pointer)}` });
    expect(
      validate(body) ? [] : validate.errors,
      `${method} ${path} ${status}: ${JSON.stringify(body)}`,
    ).toEqual([]);
  }
}

export interface CallOptions {
  readonly body?: unknown;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}
