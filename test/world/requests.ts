import type { WorldGateway } from './inhabitants/gateway.ts';

/** A request that a client has sent, and what is known of it. */
export interface Asked {
  /** Nobody else has it; the service sees it in `X-World`. */
  readonly id: string;
  readonly client: string;
  readonly gateway: WorldGateway;
  /** Which life of the gateway it was sent to. */
  readonly life: number;
  readonly method: string;
  readonly path: string;
  /** Whether the gateway may send it a second time, if its connection breaks. */
  readonly mayRepeat: boolean;
  readonly token: WorldToken | null;
  readonly sentMs: number;
  /** When the process of the gateway had read its head; `null` while it has not. */
  readMs: number | null;
  status: number | null;
  fields: ReadonlyMap<string, string>;
  /** When it ended, and how; `null` while it has not. `unprocessed`: the gateway said that it has done nothing for it. */
  endedMs: number | null;
  outcome: 'answered' | 'broken' | 'unprocessed' | null;
  /** When it reached the service, and whether with its token. */
  readonly arrivals: { readonly atMs: number; readonly hasToken: boolean }[];
  /** The price that the service has told; `null`: none, or no whole number. */
  told: number | null;
  /** When a service that gives at once had given its whole response; `null` while it has not. */
  givenMs: number | null;
  /** On a WebSocket: when each end sent its messages. */
  readonly said: { readonly request: number[]; readonly response: number[] };
  /** When the latest of them was sent that the other end got; `null`: none. */
  heardMs: number | null;
}

/** A token of the provider. */
export interface WorldToken {
  readonly text: string;
  readonly subject: string;
  /** The session that it belongs to; `null`: none. */
  readonly session: string | null;
  /** In seconds since the epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** False for one that no gateway may accept. */
  readonly isValid: boolean;
  /** Counts the keys of the provider, from 1. */
  readonly key: number;
}

/** What a client hands in once, and a gateway passes to the provider. */
export interface Trade {
  readonly text: string;
  /** Whether the provider takes it without whims. */
  readonly isGood: boolean;
  /** How often a client has sent it, and how often the provider got it. */
  sent: number;
  arrivals: number;
}

/** What the provider trades for tokens. */
interface Grant extends Trade {
  readonly session: string;
  /** What the provider has given for it. */
  token: WorldToken | null;
  refreshToken: RefreshToken | null;
}

/** A code of the provider, which a client has traded for a token. */
export interface SignInCode extends Grant {
  readonly client: string;
  readonly redirectUri: string;
}

export interface RefreshToken extends Grant {
  /** Its revocation, when its session ends. */
  readonly end: Trade;
}

/** A gateway was told that some tokens do not count any more. */
export interface Revocation {
  readonly gateway: WorldGateway;
  readonly life: number;
  readonly refuses: (token: WorldToken) => boolean;
  readonly announcedWaitMs: number;
  /** `null` while it is not confirmed. */
  confirmedMs: number | null;
}

/** What is known of a request that nobody has read. */
const NEW = {
  readMs: null,
  status: null,
  endedMs: null,
  outcome: null,
  heardMs: null,
  givenMs: null,
  told: null,
};

/** All requests of a world. */
export class Requests {
  readonly all: Asked[] = [];
  readonly #byId = new Map<string, Asked>();

  begin(request: Omit<Asked, keyof typeof NEW | 'fields' | 'arrivals' | 'said'>): Asked {
    const asked: Asked = {
      ...request,
      ...{ ...NEW, fields: new Map(), arrivals: [], said: { request: [], response: [] } },
    };
    this.all.push(asked);
    this.#byId.set(asked.id, asked);
    return asked;
  }

  find(id: string): Asked | undefined {
    return this.#byId.get(id);
  }
}
