/**
 * Replaces what the page shows by what it would show now. A page that was parsed from text runs no scripts. Waits while
 * something is selected, so that it can be copied.
 */
export const SCRIPT = `
const EVERY_MS = 2000;
const live = document.getElementById('live');
async function update() {
  try {
    if (document.hidden || !getSelection().isCollapsed) return;
    const response = await fetch(location.href, { cache: 'no-store' });
    if (!response.ok) throw new Error(response.status);
    const next = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const part of ['main', '#word', '#facts']) document.querySelector(part).replaceWith(next.querySelector(part));
    document.title = next.title;
    live.textContent = 'updates itself';
    live.className = '';
  } catch {
    live.textContent = 'no longer up to date: the gateway does not answer';
    live.className = 'ill';
  } finally {
    setTimeout(update, EVERY_MS);
  }
}
live.textContent = 'updates itself';
setTimeout(update, EVERY_MS);
`;
