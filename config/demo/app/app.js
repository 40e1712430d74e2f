// The page of the demo: a client of the gateway, by the code of docs/clients.md.
import { Client, claimsOf } from './client.js';

const client = new Client('');
const byId = id => document.getElementById(id);
/** Where a sign-in that began in this tab keeps what it has to compare. */
const PENDING = 'pending sign-in';

const sections = ['signed-out', 'by-hand', 'signed-in'];
function show(section, state, bad = false) {
  for (const id of sections) byId(id).hidden = id !== section;
  byId('state').textContent = state;
  byId('state').className = bad ? 'bad' : '';
}

function fill(table, rows) {
  table.replaceChildren(
    ...rows.map(cells => {
      const row = document.createElement('tr');
      const [name, value] = ['th', 'td'].map(tag => document.createElement(tag));
      [name.textContent, value.textContent] = cells;
      row.append(name, value);
      return row;
    }),
  );
}

async function signIn(more) {
  const { url, pending } = await client.begin();
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  location.assign(url + more);
}

/** The address that the provider sent the browser back to. */
async function comeBack() {
  const address = location.href;
  const pending = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  // The code is used up or shown: it has no place in the address bar and the history.
  history.replaceState(null, '', './');
  if (pending === null) {
    const answer = new URL(address).searchParams;
    byId('code').textContent = answer.get('code') ?? `none: ${answer.get('error')}`;
    show('by-hand', 'The provider sent the browser back.');
    return;
  }
  await client.finish(address, JSON.parse(pending));
  showTokens();
}

function showTokens() {
  const claims = claimsOf(client.tokens.accessToken);
  show('signed-in', `Signed in as ${claims.preferred_username ?? claims.sub}.`);
  fill(
    byId('claims'),
    Object.entries(claims).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}

/** The fourth message within five seconds gets a 429, on which the client waits. */
async function sendMessage() {
  const began = performance.now();
  const response = await client.call('/v1/channels/general/messages', {
    method: 'POST',
    body: '{"text":"Hello"}',
  });
  const waited = performance.now() - began > 1000 ? ', after waiting as a 429 said' : '';
  byId('status').textContent =
    `POST /v1/channels/general/messages: ${response.status} ${response.statusText}${waited}`;
  const fields = [...response.headers].filter(([name]) => /^(x-ratelimit|ratelimit|retry-after)/.test(name));
  fill(byId('fields'), fields);
  byId('response').hidden = false;
}

async function signOut() {
  const response = await client.call('/v1/users/sign-out', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ refreshToken: client.tokens.refreshToken }),
  });
  byId('response').hidden = true;
  show('signed-out', `Signed out (${response.status}).`);
}

/** Disables the button meanwhile and shows what went wrong. */
function onClick(id, work) {
  const button = byId(id);
  button.addEventListener('click', async () => {
    button.disabled = true;
    await attempt(work);
    button.disabled = false;
  });
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    show('signed-out', error.message, true);
  }
}

onClick('sign-in', () => signIn(''));
onClick('sign-in-again', () => signIn('&prompt=login'));
onClick('call', sendMessage);
onClick('refresh', async () => {
  await client.refresh();
  showTokens();
});
onClick('sign-out', signOut);
show('signed-out', 'This page came through the gateway. Sign in to call the API behind it.');
if (location.search !== '') await attempt(comeBack);
