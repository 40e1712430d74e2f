/** The part of oidc-provider 9 that the demo and the tests use; the package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  /** A Koa context, as the provider extends it. */
  export interface ProviderContext {
    status: number;
    body: unknown;
    type: string;
    readonly oidc: { readonly route: string; readonly client: { readonly clientId: string } };
  }

  /** An access token, or its source. */
  export interface TokenSource {
    readonly kind: string;
    readonly clientId: string;
    readonly accountId?: string;
    readonly sessionUid?: string;
    readonly iat?: number;
  }

  export interface JwtParts {
    header: Record<string, unknown> | undefined;
    payload: Record<string, unknown>;
  }

  export interface Interaction {
    readonly uid: string;
    readonly prompt: { readonly name: string };
    readonly params: Readonly<Record<string, unknown>>;
  }

  export interface Session {
    readonly uid: string;
    sidFor(clientId: string, sid: string): void;
    readonly accountId: string;
    grantIdFor(clientId: string): string | undefined;
  }

  export interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  export class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    readonly Grant: {
      new (of: { accountId: string; clientId: string }): Grant;
      find(id: string): Promise<Grant | undefined>;
    };
    use(middleware: (ctx: ProviderContext, next: () => Promise<void>) => Promise<void>): void;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Readonly<Record<string, unknown>>,
      options: { mergeWithLastSubmission: boolean },
    ): Promise<void>;
    on(event: string, listener: (...args: readonly unknown[]) => void): this;
  }

  export default Provider;
}
