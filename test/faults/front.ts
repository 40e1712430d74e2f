import type { ConfigPart } from '../support/gateway.ts';
import { type GatewayProcess, type Launch, startGatewayProcess } from '../support/gateway-process.ts';
import { Account } from './account.ts';
import { Load, type LoadOptions } from './load.ts';
import { frontOf, startService } from './service.ts';

/** A gateway under load. */
export interface Front {
  readonly gateway: GatewayProcess;
  readonly load: Load;
}

/** Starts one before a service of its own. `more`: keys of gateway.yaml, and routes beside those of the load. */
export async function front(
  launch: Launch = {},
  options: LoadOptions = {},
  { routes = [], ...more }: ConfigPart & { readonly routes?: readonly ConfigPart[] } = {},
): Promise<Front> {
  const account = new Account();
  const service = await startService(account);
  const config = { log: { level: 'info', access: false }, ...frontOf([service], { routes }), ...more };
  const gateway = await startGatewayProcess({ upstreamPort: 0, config }, { h2c: true, ...launch });
  return { gateway, load: new Load(account, [gateway.port], options) };
}
