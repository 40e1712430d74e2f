import { firstValue, GatewayError, GrowingBytes } from '../../core/index.ts';
import type { BodyTerms } from '../../http1/index.ts';
import { MAX_REQUEST_BYTES, mediaTypeRefusal, type SignIn, type SignInResponse } from '../../signin/index.ts';
import { type Exchange, SERVED, type Served, type SignInHere } from '../exchange/index.ts';
import {
  addOwnFields,
  bodyTooLarge,
  internalFault,
  noRoute,
  signedInElsewhere,
  unauthenticated,
  wrongMethod,
} from '../responses/index.ts';

/**
 * The body is small, so one deadline covers all of it. `readWhole` limits the size of the data but not of its framing, which a
 * client cannot control; the deadline limits that well enough.
 */
const BODY_TERMS: BodyTerms = { maxBytes: null, minBytesPerS: null, deadlineMs: 10_000 };

/** Serves the sign-in endpoints (docs/contract.md, 1). */
export function serveSignIn(exchange: Exchange, { route }: SignInHere): Served {
  const signIn = exchange.generation.identity?.signIn ?? null;
  if (signIn === null) return exchange.answerError(noRoute());
  if (!route.methods.includes(exchange.downstream.method))
    return exchange.answerError(wrongMethod(route.methods.join(', ')));
  const { addressKey } = exchange;
  switch (route.endpoint) {
    case 'authorize-url':
      return reply(exchange, signIn.authorizeUrl());
    case 'auth':
      return serveBody(exchange, body => signIn.redeem(body, addressKey));
    case 'refresh':
      return serveBody(exchange, body => signIn.refresh(body, addressKey));
    case 'sign-out':
      return serveSignOut(exchange, signIn);
  }
}

/** Signs out the caller whom the gates have identified, once the body is whole. */
function serveSignOut(exchange: Exchange, signIn: SignIn): Served {
  const { caller, addressKey, refusedToken, generation } = exchange;
  if (caller === null) return exchange.answerError(unauthenticated(refusedToken));
  const endSession = () => generation.identity?.endSession(caller);
  if (caller.issuer !== signIn.issuer) {
    // Its refresh token is for another provider than the one that would get it.
    endSession();
    return exchange.answerError(signedInElsewhere());
  }
  return serveBody(exchange, body => signIn.signOut(body, addressKey, endSession));
}

/** What becomes of a request's body. */
type Use = (body: Buffer) => Promise<SignInResponse | GatewayError>;

function serveBody(exchange: Exchange, use: Use): Served {
  const refusal = bodyRefusal(exchange);
  if (refusal !== null) return exchange.answerError(refusal);
  if (exchange.bodyLength === 0) return answerWith(exchange, use(Buffer.alloc(0)));
  return readWhole(exchange, body => answerWith(exchange, use(body)));
}

function bodyRefusal(exchange: Exchange): GatewayError | null {
  if (exchange.bodyLength !== 'chunked' && exchange.bodyLength > MAX_REQUEST_BYTES) return bodyTooLarge();
  return mediaTypeRefusal(firstValue(exchange.head.kept, 'content-type')) ?? null;
}

/** Reads the body. A client that disconnects before its end has asked for nothing; after that, its request goes on without it. */
function readWhole(exchange: Exchange, then: (body: Buffer) => Served): Served {
  const joined = new GrowingBytes(MAX_REQUEST_BYTES);
  let whole: Buffer = Buffer.alloc(0);
  exchange.downstream.body(BODY_TERMS).start({
    chunk: bytes => {
      if (exchange.response.isSettled) return true;
      if (whole.length + bytes.length > MAX_REQUEST_BYTES) exchange.answerError(bodyTooLarge());
      else whole = joined.join(whole, bytes);
      return true;
    },
    end: () => {
      if (!exchange.response.isSettled) then(whole);
    },
    fail: () => {},
  });
  // The body ends, breaks off with its connection, or misses the deadline above, which its listener answers.
  return SERVED;
}

function answerWith(exchange: Exchange, outcome: ReturnType<Use>): Served {
  outcome.then(
    response => {
      if (!exchange.response.isSettled) reply(exchange, response);
    },
    (fault: unknown) => {
      if (!exchange.response.isSettled) exchange.answerError(internalFault(fault));
    },
  );
  // The promise settles: the provider has a timeout.
  return SERVED;
}

function reply(exchange: Exchange, response: SignInResponse | GatewayError): Served {
  if (response instanceof GatewayError) return exchange.answerError(response);
  const { status, body } = response;
  // RFC 9110, 8.6: a 204 has no Content-Length.
  const length = status === 204 ? [] : ['Content-Length', String(body.length)];
  const fields = [...response.fields, ...length];
  addOwnFields(fields, exchange, exchange.rate);
  const reason = status === 204 ? 'No Content' : 'OK';
  return exchange.response.finish('answered', status, reason, fields, body.toString('latin1'));
}
