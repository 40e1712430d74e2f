import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Caller, callOverTls, openWebSocket, repeatedly } from './traffic.ts';
import { LIMITS, type World } from './world.ts';

/** Traffic as in a day, with its troubles, in `minutes`. Says what happens. */
export async function playStory(world: World, minutes: number, say: (line: string) => void): Promise<void> {
  const end = new AbortController();
  const traffic = startTraffic(world, end.signal);
  const part = (share: number) => sleep(minutes * 60_000 * share);
  await part(0.2);
  say('a reload, then a refused one');
  await world.writeLimits(LIMITS.replace('8/5s', '10/5s'));
  await part(0.08);
  await world.writeLimits('buckets: [');
  await part(0.08);
  await world.writeLimits(LIMITS);
  say('the reports fail');
  world.reports.up = false;
  await part(0.14);
  world.reports.up = true;
  say('Redis is gone');
  await world.redis.stop();
  await part(0.12);
  await world.redis.start();
  say('the provider is gone');
  world.provider.up = false;
  await part(0.14);
  world.provider.up = true;
  await part(0.24);
  end.abort();
  await traffic;
}

async function startTraffic(world: World, signal: AbortSignal): Promise<void> {
  const { port } = world;
  const caller = (user: string, address: string): Caller => ({ address, token: world.token(user) });
  const users = Array.from({ length: 8 }, (_, i) => caller(`user-${i}`, `192.0.2.${i + 1}`));
  const bots = [caller('bot-1', '198.51.100.1'), caller('bot-2', '198.51.100.2')];
  const late: Caller = { address: '203.0.113.7', token: world.token('user-9', true) };
  const stranger: Caller = { address: '203.0.113.8', token: null };
  const any = (callers: readonly Caller[]): Caller =>
    callers[Math.floor(Math.random() * callers.length)] ?? stranger;
  const signIn = JSON.stringify({ code: 'a-code', redirectUri: 'https://app.example/callback' });
  const refreshToken = JSON.stringify({ refreshToken: 'r' });
  let sessions = 0;
  /** A user who is in for a moment, and asks once more afterwards. */
  const signOut = () => {
    const leaver = caller(`leaver-${++sessions}`, '192.0.2.20');
    ask(port, 'POST', '/v1/users/sign-out', leaver, refreshToken);
    setTimeout(() => ask(port, 'GET', '/orders', leaver), 1_000);
  };
  const logOut = () => {
    sessions += 1;
    world.logOut(`session-${sessions}`, sessions % 9 === 0 ? 'another' : 'app').catch(() => {});
  };
  await Promise.all([
    repeatedly(45, 0.4, signal, () => ask(port, 'GET', '/orders', any(users))),
    repeatedly(14, 0.6, signal, () => ask(port, 'GET', '/orders', any(bots))),
    repeatedly(14, 0.5, signal, () => ask(port, 'GET', '/search', any(users))),
    repeatedly(4, 0.3, signal, () => ask(port, 'POST', '/uploads', any(users), '-'.repeat(20_000))),
    repeatedly(6, 0.2, signal, () => ask(port, 'GET', '/reports/today', any(users))),
    repeatedly(1.5, 0.3, signal, () => ask(port, 'GET', '/orders', late)),
    repeatedly(0.4, 0, signal, () => ask(port, 'GET', '/orders', stranger)),
    repeatedly(1, 0.2, signal, () => ask(port, 'POST', '/v1/anonymous/auth', any(users), signIn)),
    repeatedly(0.8, 0.3, signal, () => ask(port, 'POST', '/v1/users/refresh', any(users), refreshToken)),
    repeatedly(0.5, 0.4, signal, signOut),
    repeatedly(0.4, 0.4, signal, logOut),
    repeatedly(1.2, 0.3, signal, () => ask(port, 'GET', '/payments/1', any(users))),
    repeatedly(0.5, 0, signal, () => callOverTls(world.grpcPort, world.ca, world.token('user-1'))),
    repeatedly(0.4, 0.3, signal, () => openWebSocket(port, any(users), 20_000 + 20_000 * Math.random())),
  ]);
}
