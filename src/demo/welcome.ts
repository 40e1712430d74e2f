import type { ChosenPort, ChosenPorts } from './ports.ts';
import { BOT_CLIENT } from './provider/index.ts';

/**
 * What runs where, and what to try. Every line that begins with curl works as it stands, once the variables of the shell
 * that it names are set: CODE, TOKEN and BOT_TOKEN.
 */
export function welcome({ gateway, admin, provider, backend }: ChosenPorts): string {
  const api = `http://127.0.0.1:${gateway.port}`;
  const origin = `http://127.0.0.1:${provider.port}`;
  const flow = gateway.port === 8080 ? 'npm run demo:flow' : `npm run demo:flow -- --port ${gateway.port}`;
  return `
Weir's demo is running.

  gateway   ${api}${insteadOf(gateway)}
            as config/demo/gateway.yaml and config/demo/limits.yaml say
  provider  ${origin}/realms/demo${insteadOf(provider)}
            OpenID Connect in the manner of Keycloak; users alice / wonderland and bob / builder
  backend   http://127.0.0.1:${backend.port}${insteadOf(backend)}
            a small API of channels and messages, in memory
  admin     http://127.0.0.1:${admin.port}${insteadOf(admin)}
            the gateway's metrics, health and status

See a whole sign-in without a browser, request by request:

    ${flow}

Or do it yourself, in another terminal:

  1 ask where to sign in; open that url in a browser, and sign in as alice / wonderland
    curl ${api}/v1/anonymous/authorize-url

  2 redeem the code that the page shows: it is good for five minutes, and once. The page has a link by which somebody else
    signs in, bob / builder
    CODE='paste it here'
    curl -H 'Content-Type: application/json' -d "{\\"code\\":\\"$CODE\\",\\"redirectUri\\":\\"${origin}/callback\\"}" ${api}/v1/anonymous/auth

  3 call with the access token
    TOKEN='paste the accessToken here'
    curl -H "Authorization: Bearer $TOKEN" -d '{"text":"Hello"}' ${api}/v1/channels/general/messages
    curl -H "Authorization: Bearer $TOKEN" ${api}/v1/channels/general/messages

  4 see what reaches the backend: the token and who calls, but no header field that the client forged
    curl -H "Authorization: Bearer $TOKEN" -H 'X-Auth-Subject: root' -H 'X-Real-IP: 192.0.2.1' ${api}/v1/echo

  5 the same as a bot, which gets its token from the provider by itself
    curl -u ${BOT_CLIENT.id}:${BOT_CLIENT.secret} -d grant_type=client_credentials ${origin}/realms/demo/protocol/openid-connect/token
    BOT_TOKEN='paste the access_token here'
    curl -H "Authorization: Bearer $BOT_TOKEN" ${api}/v1/echo

  meet an error that the gateway makes by itself: no token, a code that is none, no route, a path that climbs
    curl -i ${api}/v1/channels/general/messages
    curl -i -H 'Content-Type: application/json' -d '{"code":"guessed","redirectUri":"${origin}/callback"}' ${api}/v1/anonymous/auth
    curl -i ${api}/nowhere
    curl -i --path-as-is ${api}/v1/channels/../admin

  run into a limit: config/demo/limits.yaml lets a user write three messages to a channel within five seconds, so that the
  fourth is answered 429 and told how long to wait
    for n in 1 2 3 4; do curl -i -H "Authorization: Bearer $TOKEN" -d '{"text":"Again"}' ${api}/v1/channels/busy/messages; done

  change that limit while all of this runs: in config/demo/limits.yaml write 6/5s for 3/5s, and save it. Within seconds the log
  below says "another configuration serves", and X-RateLimit-Limit of the next message says 6
    curl -si -H "Authorization: Bearer $TOKEN" -d '{"text":"More"}' ${api}/v1/channels/busy/messages | grep -i limit

  ask what becomes of a request, with the line of the file behind each limit
    npm run -s weir -- explain POST /v1/channels/busy/messages config/demo/gateway.yaml

  watch an answer arrive piece by piece, as the backend makes it
    curl -N ${api}/v1/ticks

  fetch 64 MiB, which stream through the gateway and are never held in memory
    curl -o /dev/null ${api}/v1/download

  look at the gateway's own side
    http://127.0.0.1:${admin.port}/status in a browser: what runs, what failed last, provider, store and upstreams
    curl http://127.0.0.1:${admin.port}/readyz
    curl http://127.0.0.1:${admin.port}/metrics

The gateway's log follows, one line a request. Ctrl-C stops everything.
`;
}

function insteadOf(chosen: ChosenPort): string {
  return chosen.insteadOf === null ? '' : `  (port ${chosen.insteadOf} is taken)`;
}
