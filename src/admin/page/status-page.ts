import { createHash } from 'node:crypto';
import type { GatewayStatus } from '../status.ts';
import { Html, html, SCRIPT, STYLE, span } from './html.ts';
import { bucketSection, callerSections } from './limit-sections.ts';
import {
  certificateSection,
  configurationSection,
  errorSection,
  logSection,
  providerSections,
  proxySection,
  reloadSection,
  storeSection,
  upstreamSection,
} from './state-sections.ts';

/** Allows the page its own style and script and to fetch itself, and nothing else, whatever a name or message on it contains. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src '${hashOf(STYLE)}'`,
  `script-src '${hashOf(SCRIPT)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Without JavaScript, a browser loads the page anew. */
const REFRESH_SECONDS = 5;

/** The status as one page that updates itself. */
export function statusAsPage(status: GatewayStatus): string {
  const word = wordFor(status);
  const { version, host, uptimeSeconds } = status;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Weir on ${host}: ${word}</title>
<style>${new Html(STYLE)}</style>
<noscript><meta http-equiv="refresh" content="${REFRESH_SECONDS}"></noscript>
</head>
<body>
<header>
<h1>Weir</h1>
<p id="word" role="status" class="${word === 'ready' ? 'well' : 'ill'}">${word}</p>
<p id="facts">${host}, version ${version}, up ${span(uptimeSeconds * 1_000)}</p>
<p id="live"></p>
</header>
<main>
${proxySection(status)}${bucketSection(status)}${callerSections(status)}${upstreamSection(status)}${errorSection(status)}${logSection(status)}${configurationSection(status)}${reloadSection(status)}${providerSections(status)}${storeSection(status)}${certificateSection(status)}</main>
<script>${new Html(SCRIPT)}</script>
</body>
</html>
`.text;
}

function wordFor({
  notReady,
  configuration: { lastFailure, waiting, pendingRestart },
}: GatewayStatus): string {
  if (notReady !== null) return `not ready: ${notReady}`;
  if (lastFailure !== null && !lastFailure.mended) return 'ready; the configuration files have errors';
  if (waiting !== null) return 'ready; a new configuration waits';
  return pendingRestart.length > 0 ? 'ready; a change waits for a restart' : 'ready';
}

/** Names a hash the way the policy does (Content Security Policy Level 3, 2.3.1). */
function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
