import { expect, it } from 'vitest';
import { makeLogger } from '../../../../src/observe/index.ts';
import { upstreamLog } from '../../../../src/observe/log/index.ts';

function recording() {
  const lines: string[] = [];
  const log = upstreamLog(makeLogger('info', { write: line => lines.push(line) }));
  const said = () =>
    lines.splice(0).map(line => {
      const { time, instance, ...rest } = JSON.parse(line);
      return rest;
    });
  return { log, said };
}

it('an endpoint that is out is logged with the reason and the cause, and that it is back', () => {
  const { log, said } = recording();
  const event = { upstream: 'api', endpoint: '10.0.0.1:80' };
  log.endpointChanged({ ...event, reason: 'connect_failures', cause: 'connect ECONNREFUSED' });
  log.endpointChanged({ ...event, reason: 'check', cause: null });
  log.endpointChanged({ ...event, reason: null, cause: 'an old one' });
  const line = { type: 'upstream', ...event };
  expect(said()).toEqual([
    {
      ...{ ...line, level: 'warn', reason: 'connect_failures', cause: 'connect ECONNREFUSED' },
      msg: 'an endpoint gets no requests for a while: it cannot be connected to',
    },
    {
      ...{ ...line, level: 'warn', reason: 'check' },
      msg: 'an endpoint gets no requests: its health checks fail',
    },
    { ...line, level: 'info', msg: 'an endpoint gets requests again' },
  ]);
});

it('changed addresses are logged, ten of them by name', () => {
  const { log, said } = recording();
  const added = Array.from({ length: 300 }, (_, at) => `10.0.0.${at}:80`);
  log.addressesChanged({ upstream: 'api', added, removed: ['10.1.0.1:80'], count: 300 });
  const [line] = said();
  expect(line).toMatchObject({ added: added.slice(0, 10), removed: ['10.1.0.1:80'], count: 300 });
});
