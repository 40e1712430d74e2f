import { type ClientAuth, ClientError, type Configuration, customFetch } from 'openid-client';
import { clientAuth, libraryConfiguration } from './client-authentication.ts';
import { refusedBy } from './failures.ts';
import type { ClientOptions } from './options.ts';
import {
  askProvider,
  type Provider,
  ProviderFault,
  type ProviderMetadata,
  type ProviderResponse,
} from './provider/index.ts';

/** One request to an endpoint where the gateway is known as a client. */
interface ClientRequest<T> {
  /** The endpoint's name in the log. */
  readonly endpoint: string;
  /** The statuses of a success. */
  readonly successes: readonly number[];
  /** The secrets in the request; they are cut out of the provider's explanation before it is logged. */
  readonly secrets: readonly string[];
  /** Has openid-client build the request, authenticate it and send it, with the `customFetch` of the configuration. */
  send(configuration: Configuration, authenticate: ClientAuth): Promise<T>;
  /** Reads a success; returns what openid-client sees of it. May throw a `ProviderFault`. */
  read(response: ProviderResponse): Response;
}

/** The gateway as a client of the provider. The constructor throws a `TypeError` if the client's key is unusable. */
export class ProviderClient {
  readonly #options: ClientOptions;
  readonly #provider: Provider;
  readonly #authenticate: ClientAuth;

  constructor(options: ClientOptions, provider: Provider) {
    this.#options = options;
    this.#provider = provider;
    this.#authenticate = clientAuth(options.clientAuthentication);
  }

  /** The last known metadata of the provider; `undefined` until there is any. */
  get metadata(): ProviderMetadata | undefined {
    return this.#provider.metadata;
  }

  /**
   * Makes one request, which only its own deadline can cancel. openid-client sees successes alone: this class judges refusals,
   * because the library skips the body of a refusal that has `WWW-Authenticate` or a 5xx status.
   *
   * Rejects with a `ProviderFault`, or with an error that holds nothing of what the library threw: its errors carry responses,
   * and so tokens.
   */
  async ask<T>(request: ClientRequest<T>, metadata: ProviderMetadata): Promise<T> {
    const configuration = libraryConfiguration(metadata, this.#options.clientId, this.#authenticate);
    // Switch off the library's timeout, which restarts for each step and takes only whole milliseconds.
    configuration.timeout = 0;
    const { clock, network } = this.#provider.system;
    const deadline = clock.signalAfter(this.#provider.options.timeoutMs);
    let sent = false;
    let fault: unknown;
    configuration[customFetch] = async (url, { headers, body }) => {
      try {
        if (sent)
          throw new ProviderFault('nonsense', `a second request to the ${request.endpoint} was prevented`);
        sent = true;
        const fields = { ...headers, 'user-agent': 'weir' };
        const post = { method: 'POST', url, headers: fields, body: String(body), deadline } as const;
        return this.#read(request, await askProvider(post, this.#provider.options, network));
      } catch (error) {
        fault = error;
        throw error;
      }
    };
    try {
      return await request.send(configuration, this.#authenticate);
    } catch (error) {
      throw fault ?? unusable(request.endpoint, sent, error);
    }
  }

  #read<T>({ endpoint, successes, secrets, read }: ClientRequest<T>, response: ProviderResponse): Response {
    if (successes.includes(response.status)) return read(response);
    const { clientAuthentication: own } = this.#options;
    throw refusedBy(endpoint, response, 'secret' in own ? [...secrets, own.secret] : secrets);
  }
}

/** What the library found wrong with a response, by its code alone; a fault of the gateway if nothing was sent. */
function unusable(endpoint: string, sent: boolean, error: unknown): Error {
  return sent && error instanceof ClientError && error.code !== undefined
    ? new ProviderFault('nonsense', `the response of the ${endpoint} cannot be used: ${error.code}`)
    : new Error(`a request to the ${endpoint} failed in the gateway`);
}
