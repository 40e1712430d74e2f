const MAX_STEPS = 10;

/**
 * Signs in as a browser would: opens the authorization URL, posts the login form, follows redirects and keeps cookies until it is
 * redirected to `redirectUri`. `location` is `redirectUri` with the new parameters, as the provider wrote it. Works with any
 * provider, such as Keycloak, whose form has a user name and a `password`. Rejects with an `Error` that says where it got stuck.
 *
 * @param redirectUri the one in the URL; it is never opened
 * @param cookies the browser's cookies by name, possibly from an earlier sign-in
 */
export async function walkLogin(
  authorizeUrl: string,
  redirectUri: string,
  username: string,
  password: string,
  cookies = new Map<string, string>(),
) {
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

/** Whether this is the redirect URI with parameters added. Providers may spell host and query differently. */
function isAt(location: string, redirectUri: string): boolean {
  const [there, wanted] = [URL.parse(location), URL.parse(redirectUri)];
  const parts = ['protocol', 'host', 'pathname'] as const;
  return there !== null && parts.every(part => there[part] === wanted?.[part]);
}

function codeIn(location: string): string {
  const parameters = new URL(location).searchParams;
  const code = parameters.get('code');
  if (code === null) throw new Error(`the provider refused: ${parameters.get('error') ?? 'no code'}`);
  return code;
}

/** `userField`: `null` if the form has no inputs, because a script on the page would post it. */
function formIn(html: string) {
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
