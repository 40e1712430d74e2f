import { inspect } from 'node:util';
import {
  type DiscoveryEvent,
  GatewayError,
  ProcessPermits,
  type RedeemEvent,
  type SignOutEvent,
  thisMachine,
} from '../../src/core/index.ts';
import {
  Provider,
  type ProviderOptions,
  SignIn,
  type SignInOptions,
  type SignInResponse,
} from '../../src/identity/signin/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';
import { PROVIDER_OPTIONS } from './identity-options.ts';
import { clockOfTests, forSockets } from './test-clock.ts';

/** The sign-in room on its own, with everything that it announces. */
export interface SignInRoom {
  readonly signIn: SignIn;
  readonly provider: Provider;
  readonly redeemed: readonly RedeemEvent[];
  readonly signedOut: readonly SignOutEvent[];
  readonly discovered: readonly DiscoveryEvent[];
  readonly marks: readonly (readonly [subject: string, notBefore: number])[];
  /** Redeems this body, as JSON, for a client of this address. Returns the parsed response or the error. */
  redeem(body: unknown, address?: string): Promise<Record<string, unknown> | GatewayError>;
  /** The same with the refresh token in this body. */
  refresh(body: unknown, address?: string): Promise<Record<string, unknown> | GatewayError>;
  /** Signs out with the refresh token in this body. `ended`: the session was ended in the gateway. */
  signOut(
    body: unknown,
    address?: string,
  ): Promise<{ readonly response: SignInResponse | GatewayError; readonly ended: boolean }>;
  /** Its clock, which the test moves. */
  readonly time: FrozenClock;
  /** Resolves when the endpoints are known. */
  ready(): Promise<void>;
  /** Everything announced, as deeply as a careless logger would print it. */
  everythingSaid(): string;
  close(): void;
}

export function openSignInRoom(
  provider: { readonly issuer: string } & Partial<ProviderOptions>,
  signIn: Partial<SignInOptions> & Pick<SignInOptions, 'redirectUri'>,
): SignInRoom {
  const clock = clockOfTests();
  const redeemed: RedeemEvent[] = [];
  const signedOut: SignOutEvent[] = [];
  const discovered: DiscoveryEvent[] = [];
  const marks: [string, number][] = [];
  let known: () => void = () => undefined;
  const ready = new Promise<void>(resolve => {
    known = resolve;
  });
  const theProvider = new Provider(
    { ...PROVIDER_OPTIONS, ...provider },
    {
      listener: { discovered: event => void discovered.push(event) },
      ...thisMachine,
      clock: forSockets(clock),
      // The shortest waits, to keep the tests fast.
      random: () => 0.999,
      changed: known,
    },
  );
  const options: SignInOptions = {
    scope: 'openid',
    redirectAllowList: null,
    authorizationParameters: { fixed: {}, allow: [] },
    maxInFlight: 100,
    signOutEnds: 'refresh_token',
    clientId: 'gateway',
    clientAuthentication: { kind: 'client_secret_basic', secret: 'marker-secret' },
    ...signIn,
  };
  const theSignIn = new SignIn(options, {
    provider: theProvider,
    clock,
    listener: {
      redeemed: event => void redeemed.push(event),
      signedOut: event => void signedOut.push(event),
    },
    permits: new ProcessPermits(),
    learnedMark: ({ subject, notBefore }) => void marks.push([subject, notBefore]),
  });
  theProvider.start();
  return {
    signIn: theSignIn,
    provider: theProvider,
    time: clock instanceof FrozenClock ? clock : new FrozenClock(),
    redeemed,
    signedOut,
    discovered,
    marks,
    async redeem(body, address = '192.0.2.1') {
      return parsed(await theSignIn.redeem(Buffer.from(JSON.stringify(body)), address));
    },
    async refresh(body, address = '192.0.2.1') {
      return parsed(await theSignIn.refresh(Buffer.from(JSON.stringify(body)), address));
    },
    async signOut(body, address = '192.0.2.1') {
      let ended = false;
      const end = async () => {
        ended = true;
      };
      const response = await theSignIn.signOut(Buffer.from(JSON.stringify(body)), address, end);
      return { response, ended };
    },
    ready: () => ready,
    everythingSaid: () =>
      inspect(
        { redeemed, signedOut, discovered, marks },
        { depth: 20, showHidden: true, maxStringLength: null },
      ),
    close: () => theProvider.stop(),
  };
}

function parsed(response: SignInResponse | GatewayError): Record<string, unknown> | GatewayError {
  return response instanceof GatewayError ? response : JSON.parse(response.body.toString('utf8'));
}
