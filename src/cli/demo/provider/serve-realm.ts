import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type OidcProvider from 'oidc-provider';
import { errorPage, loginPage } from './pages.ts';
import { LOGIN_PATH, personByPassword, REALM_PATH, RESTART_PATH } from './realm.ts';

export type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Serves the login form itself and leaves the rest of the realm to the library.
 *
 * @param authorizeUrl where a sign-in through the gateway begins
 */
export function serveRealm(provider: OidcProvider, authorizeUrl: string): Serve {
  const library = provider.callback();
  return (request, response) => {
    const target = request.url ?? '/';
    if (target.startsWith(`${LOGIN_PATH}/`)) {
      login(provider, request, response).catch(() =>
        sendPage(response, 400, errorPage('This sign-in has expired.', RESTART_PATH)),
      );
    } else if (target === RESTART_PATH) {
      restart(response, authorizeUrl);
    } else if (target.startsWith(`${REALM_PATH}/`)) {
      // The library expects the path below its mount point, and the whole path in `originalUrl`, as in Express.
      Object.assign(request, { originalUrl: target, url: target.slice(REALM_PATH.length) });
      void library(request, response);
    } else {
      sendPage(response, 404, errorPage('There is nothing here.', RESTART_PATH));
    }
  };
}

async function login(
  provider: OidcProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const interaction = await provider.interactionDetails(request, response);
  if (interaction.prompt.name === 'consent') {
    // For apps with a custom URI scheme, the library asks for consent each time; grant it without a page.
    await provider.interactionFinished(request, response, { consent: {} }, { mergeWithLastSubmission: true });
    return;
  }
  const action = `${LOGIN_PATH}/${interaction.uid}`;
  if (request.method !== 'POST') {
    sendPage(response, 200, loginPage(action, false));
    return;
  }
  const form = new URLSearchParams(await text(request));
  const person = personByPassword(form.get('username') ?? '', form.get('password') ?? '');
  if (person === undefined) {
    sendPage(response, 200, loginPage(action, true));
    return;
  }
  const result = { login: { accountId: person.subject } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

/**
 * Makes the browser forget who is signed in and starts a new sign-in. Keeps the session itself: ending it would also end the
 * first person's code and tokens.
 */
function restart(response: ServerResponse, authorizeUrl: string): void {
  const cookies = ['_session', '_session.sig'].map(name => `${name}=; Path=/; Max-Age=0`);
  response.writeHead(303, { location: authorizeUrl, 'set-cookie': cookies, 'cache-control': 'no-store' });
  response.end();
}

function sendPage(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  response.end(html);
}
