/** Where a login ended. */
export interface LoginEnd {
  /** The address that the browser was sent to, as the provider wrote it: the redirect URI with its new parameters. */
  readonly location: string;
  readonly code: string;
}

const MAX_STEPS = 10;

/**
 * Walks a sign-in as a browser would, without one: opens the authorization URL, posts the login form, follows redirects by
 * hand and keeps cookies, until it is sent to `redirectUri`. Works with every provider whose form has a user name and a
 * `password`, Keycloak among them. Rejects with an `Error` that says where it got stuck.
 *
 * @param redirectUri as in the URL; it is never opened
 * @param cookies of the browser, by name: a sign-in before this one may have left some
 */
export async function walkLogin(
  authorizeUrl: string,
  redirectUri: string,
  username: string,
  password: string,
  cookies = new Map<string, string>(),
): Promise<LoginEnd> {
  let next: { url: string; form?: URLSearchParams } = { url: authorizeUrl };
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const response = await visit(next.url, next.form, cookies);
    const location = response.headers.get('location');
    if (location !== null) {
      await response.body?.cancel();
      if (isAt(location, redirectUri)) return { location, code: codeIn(location) };
      next = { url: new URL(location, next.url).href };
    } else {
      const form = formIn(await response.text());
      if (form === undefined || (form.userField !== null && next.form?.has('password'))) {
        throw new Error(`the sign-in got stuck at ${next.url} with status ${response.status}`);
      }
      if (form.userField !== null) {
        form.fields.set(form.userField, username);
        form.fields.set('password', password);
      }
      next = { url: new URL(form.action, next.url).href, form: form.fields };
    }
  }
  throw new Error('the sign-in went in circles');
}

async function visit(
  url: string,
  form: URLSearchParams | undefined,
  cookies: Map<string, string>,
): Promise<Response> {
  const response = await fetch(url, {
    redirect: 'manual',
    headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    ...(form === undefined ? undefined : { method: 'POST', body: form }),
  });
  for (const line of response.headers.getSetCookie()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (name === undefined) continue;
    if (value === '' || value === undefined) cookies.delete(name);
    else cookies.set(name, value);
  }
  return response;
}

/** Whether that address is the redirect URI with parameters added. Providers may write host and query in their own way. */
function isAt(location: string, redirectUri: string): boolean {
  const [there, wanted] = [URL.parse(location), URL.parse(redirectUri)];
  if (there === null || wanted === null) return false;
  return (
    there.protocol === wanted.protocol && there.host === wanted.host && there.pathname === wanted.pathname
  );
}

function codeIn(location: string): string {
  const parameters = new URL(location).searchParams;
  const code = parameters.get('code');
  if (code === null) throw new Error(`the provider refused: ${parameters.get('error') ?? 'no code'}`);
  return code;
}

interface Form {
  readonly action: string;
  /** Null: nothing is asked for, and a script of the page would post it. */
  readonly userField: string | null;
  /** Those that are filled in. */
  readonly fields: URLSearchParams;
}

function formIn(html: string): Form | undefined {
  const action = /<form[^>]*\baction="([^"]*)"/i.exec(html)?.[1];
  if (action === undefined) return undefined;
  const asks = /<input[^>]*\bname="password"/i.test(html);
  const fields = new URLSearchParams();
  for (const [input] of html.matchAll(/<input[^>]*\btype="hidden"[^>]*>/gi)) {
    const name = /\bname="([^"]*)"/i.exec(input)?.[1];
    if (name !== undefined) fields.set(name, plain(/\bvalue="([^"]*)"/i.exec(input)?.[1] ?? ''));
  }
  return {
    action: plain(action),
    userField: asks ? (/<input[^>]*\bname="login"/i.test(html) ? 'login' : 'username') : null,
    fields,
  };
}

function plain(attribute: string): string {
  return attribute
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
