import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { noRoute } from '../responses/index.ts';
import { forward } from './forward.ts';
import { serveOptions } from './options-request.ts';
import { servePreflight } from './preflight.ts';
import { serveRedirect } from './redirect.ts';
import { serveSignIn } from './sign-in.ts';

/** Hands an exchange that has passed the gates to its terminal, which answers it in any case, now or later. */
export function serve(exchange: Exchange, state: GatewayState): void {
  const { destination } = exchange;
  switch (destination.kind) {
    case 'forward':
      forward(exchange, destination, state);
      break;
    case 'sign-in':
      serveSignIn(exchange, destination);
      break;
    case 'preflight':
      servePreflight(exchange, destination);
      break;
    case 'redirect':
      serveRedirect(exchange, destination);
      break;
    case 'options':
      serveOptions(exchange, destination);
      break;
    case 'nowhere':
      exchange.answerError(noRoute());
  }
}
