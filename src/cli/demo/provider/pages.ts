import { escapeHtml } from '../../../core/index.ts';

const STYLE = `
  :root { color-scheme: light dark; --ink: #1c2430; --paper: #f4f5f7; --card: #fff; --line: #d5d9e0; --accent: #20639b; --bad: #b3261e; }
  @media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --paper: #14181e; --card: #1d232c; --line: #3a424e; --accent: #6cb2eb; --bad: #f2867e; } }
  * { box-sizing: border-box; }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
  main { width: min(24rem, calc(100vw - 2rem)); padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
  h1 { margin: 0 0 .25rem; font-size: 1.35rem; }
  p { margin: 0 0 1.25rem; }
  label { display: block; margin-bottom: 1rem; font-size: .9rem; }
  input { display: block; width: 100%; margin-top: .25rem; padding: .6rem .7rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 8px; }
  input:focus-visible, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
  button { width: 100%; padding: .65rem; font: inherit; font-weight: 600; color: var(--card); background: var(--accent); border: 0; border-radius: 8px; cursor: pointer; }
  a { color: var(--accent); }
  code { overflow-wrap: anywhere; }
  .bad { color: var(--bad); }
  .hint { margin: 1.25rem 0 0; font-size: .85rem; opacity: .75; }
`;

function page(title: string, main: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`;
}

/** A form that posts a username and a password to `action`. */
export function loginPage(action: string, failed: boolean): string {
  return page(
    'Sign in',
    `<h1>Sign in</h1>
${failed ? '<p class="bad" role="alert">Invalid username or password.</p>' : '<p>to the demo realm</p>'}
<form method="post" action="${escapeHtml(action)}">
<label>Username <input name="username" autocomplete="username" autocapitalize="none" required autofocus></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Sign in</button>
</form>
<p class="hint">Try <code>alice</code> with <code>wonderland</code>, or <code>bob</code> with <code>builder</code>.</p>`,
  );
}

export function errorPage(error: string, restartPath: string): string {
  return page(
    'Sign-in failed',
    `<h1>Sign-in failed</h1>
<p class="bad">${escapeHtml(error)}</p>
<p class="hint"><a href="${escapeHtml(restartPath)}">Start again</a></p>`,
  );
}
