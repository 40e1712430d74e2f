import type { ChosenPort } from './ports.ts';

export interface DemoPorts {
  readonly gateway: ChosenPort;
  readonly admin: ChosenPort;
  readonly backend: ChosenPort;
}

/** What runs where, and what to try. Every line that begins with curl works as it stands. */
export function welcome({ gateway, admin, backend }: DemoPorts): string {
  const api = `http://127.0.0.1:${gateway.port}`;
  return `
Weir's demo is running.

  gateway  ${api}${insteadOf(gateway)}
           as config/demo/gateway.yaml says
  backend  http://127.0.0.1:${backend.port}${insteadOf(backend)}
           a small API of channels and messages, in memory
  admin    http://127.0.0.1:${admin.port}${insteadOf(admin)}
           the gateway's metrics and health

Try in another terminal:

  send a message through the gateway, and list what is there
    curl -d '{"text":"Hello"}' ${api}/v1/channels/general/messages
    curl ${api}/v1/channels/general/messages

  see which header fields reach the backend: a forged one does not, the gateway's own do
    curl -H 'X-Real-IP: 192.0.2.1' ${api}/v1/echo

  watch an answer arrive piece by piece, as the backend makes it
    curl -N ${api}/v1/ticks

  fetch 64 MiB, which stream through the gateway and are never held in memory
    curl -o /dev/null ${api}/v1/download

  meet an error that the gateway makes by itself
    curl -i ${api}/nowhere
    curl -i --path-as-is ${api}/v1/channels/../admin

  look at the gateway's own side
    curl http://127.0.0.1:${admin.port}/readyz
    curl http://127.0.0.1:${admin.port}/metrics

The gateway's log follows, one line a request. Ctrl-C stops everything.
`;
}

function insteadOf(chosen: ChosenPort): string {
  return chosen.insteadOf === null ? '' : `  (port ${chosen.insteadOf} is taken)`;
}
