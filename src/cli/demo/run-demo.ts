import { makeLogger, standardOutput } from '../../observe/index.ts';
import { DEMO_COMMANDS, demoFolder, startDemo, startOwnProvider, startRealKeycloak } from './demo.ts';
import { ADMINISTRATOR } from './keycloak.ts';
import { type AskedPorts, type ChosenPort, type ChosenPorts, choosePorts, USUAL_PORTS } from './ports.ts';
import { BOT_CLIENT } from './provider/index.ts';

/**
 * Runs an identity provider, a backend and the gateway in front of them in this process until SIGINT or SIGTERM. Rejects with an
 * `Error` for the user when a part cannot start.
 */
export async function runDemo(asked: AskedPorts, kind: ProviderKind): Promise<void> {
  const chosen = await choosePorts(asked);
  const { gateway, admin, provider, backend } = chosen;
  const ports = { gateway: gateway.port, admin: admin.port, provider: provider.port, backend: backend.port };
  const output = standardOutput();
  const startProvider = kind === 'keycloak' ? startRealKeycloak : startOwnProvider;
  const demo = await startDemo(ports, makeLogger('info', output), { startProvider });
  console.log(welcome(chosen, kind));
  await signal();
  console.log('\nStopping.');
  await demo.close();
  await output.flush();
}

/** Resolves at the first SIGINT or SIGTERM. Ignores further ones, because a terminal and npm may both send one. */
function signal(): Promise<void> {
  return new Promise(done => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => done());
  });
}

/** The identity provider of the demo: its own, which looks like Keycloak, or a real Keycloak. */
type ProviderKind = 'own' | 'keycloak';

/**
 * Returns the text that says what is running where and suggests what to try. Every line that begins with curl works unchanged
 * once the shell variables that it uses are set: CODE, TOKEN and BOT_TOKEN.
 */
export function welcome(ports: ChosenPorts, kind: ProviderKind): string {
  const api = `http://127.0.0.1:${ports.gateway.port}`;
  const provider = `http://127.0.0.1:${ports.provider.port}`;
  const { port } = ports.gateway;
  const flow = port === USUAL_PORTS.gateway ? DEMO_COMMANDS.flow : `${DEMO_COMMANDS.flowWith} --port ${port}`;
  return `
Weir's demo is running.

${whatRuns(ports, api, provider, kind)}

Open ${api}/app/ in a browser and sign in. Or see a whole sign-in without a browser, request by request:

    ${flow}

Or do it yourself, in another terminal:

${byHand(api, provider)}

${moreToTry(api, ports.admin.port)}

The gateway's log follows, one line per request. Press Ctrl-C to stop everything.
`;
}

function whatRuns(
  { gateway, admin, provider, backend }: ChosenPorts,
  api: string,
  issuer: string,
  kind: ProviderKind,
): string {
  const folder = demoFolder();
  return `\
  gateway   ${api}${insteadOf(gateway)}
            configured by ${folder}/gateway.yaml and limits.yaml next to it
  provider  ${issuer}/realms/demo${insteadOf(provider)}
            ${aboutProvider(kind, issuer)}
            with the users alice / wonderland and bob / builder
  page      ${api}/app/
            signs you in and calls; its code is in docs/clients.md
  backend   http://127.0.0.1:${backend.port}${insteadOf(backend)}
            a small API of channels and messages, in memory
  admin     http://127.0.0.1:${admin.port}${insteadOf(admin)}
            the gateway's metrics, health and status`;
}

function aboutProvider(kind: ProviderKind, origin: string): string {
  if (kind === 'own') return 'OpenID Connect in the style of Keycloak';
  const { username, password } = ADMINISTRATOR;
  return `Keycloak; its console ${origin}/admin takes ${username} / ${password}`;
}

function byHand(api: string, provider: string): string {
  return `\
  1 ask where to sign in, open that URL in a browser, and sign in as alice / wonderland
    curl ${api}/v1/anonymous/authorize-url

  2 redeem the code that the page shows; it works once, within five minutes
    CODE='paste it here'
    curl -H 'Content-Type: application/json' -d "{\\"code\\":\\"$CODE\\",\\"redirectUri\\":\\"${api}/app/callback\\"}" ${api}/v1/anonymous/auth

  3 call with the access token
    TOKEN='paste the accessToken here'
    curl -H "Authorization: Bearer $TOKEN" -d '{"text":"Hello"}' ${api}/v1/channels/general/messages
    curl -H "Authorization: Bearer $TOKEN" ${api}/v1/channels/general/messages

  4 see what reaches the backend: the token and who calls, but none of the fields that the client forged
    curl -H "Authorization: Bearer $TOKEN" -H 'X-Auth-Subject: root' -H 'X-Real-IP: 192.0.2.1' ${api}/v1/echo

  5 do the same as a bot, which gets its token directly from the provider
    curl -u ${BOT_CLIENT.id}:${BOT_CLIENT.secret} -d grant_type=client_credentials ${provider}/realms/demo/protocol/openid-connect/token
    BOT_TOKEN='paste the access_token here'
    curl -H "Authorization: Bearer $BOT_TOKEN" ${api}/v1/echo`;
}

function moreToTry(api: string, adminPort: number): string {
  const folder = demoFolder();
  return `\
  see the gateway's own errors: no token, an invalid code, no route, a path that climbs
    curl -i ${api}/v1/channels/general/messages
    curl -i -H 'Content-Type: application/json' -d '{"code":"guessed","redirectUri":"${api}/app/callback"}' ${api}/v1/anonymous/auth
    curl -i ${api}/nowhere
    curl -i --path-as-is ${api}/v1/channels/../admin

  exceed a limit: ${folder}/limits.yaml allows a user three messages to a channel in five seconds, so the fourth gets a
  429 that says how long to wait
    for n in 1 2 3 4; do curl -i -H "Authorization: Bearer $TOKEN" -d '{"text":"Again"}' ${api}/v1/channels/busy/messages; done

  change that limit while everything runs: in ${folder}/limits.yaml replace 3/5s with 6/5s and save. Within seconds the log
  below says "the new configuration is in use", and X-RateLimit-Limit of the next message is 6
    curl -si -H "Authorization: Bearer $TOKEN" -d '{"text":"More"}' ${api}/v1/channels/busy/messages | grep -i limit

  ask what happens to a request, with the line of the file behind each limit
    ${DEMO_COMMANDS.weir} explain POST /v1/channels/busy/messages ${folder}/gateway.yaml

  watch a response arrive piece by piece, as the backend makes it
    curl -N ${api}/v1/ticks

  fetch 64 MiB, which stream through the gateway and are never held in memory
    curl -o /dev/null ${api}/v1/download

  look at the gateway itself
    http://127.0.0.1:${adminPort}/status in a browser: what runs, the last failure, provider, store and upstreams
    curl http://127.0.0.1:${adminPort}/readyz
    curl http://127.0.0.1:${adminPort}/metrics`;
}

function insteadOf(chosen: ChosenPort): string {
  return chosen.insteadOf === null ? '' : `  (port ${chosen.insteadOf} is taken)`;
}
