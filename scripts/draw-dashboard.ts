// Draws docs/images/dashboard.svg: the dashboard's own queries, answered by a real Prometheus that scraped a gateway under load.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { drawDashboard } from './dashboard/draw.ts';
import { playStory } from './dashboard/story.ts';
import { startWorld } from './dashboard/world.ts';

const PICTURE = join(import.meta.dirname, '../docs/images/dashboard.svg');
const SCRAPE_SECONDS = 5;

const HELP = `Draws docs/images/dashboard.svg.

npm run draw:dashboard [-- --minutes N]

  --minutes N   how long the gateway is under load (4)

Starts a gateway, Redis, Prometheus and services on free ports, and ends them. Installs the Debian package "prometheus" if root
may. Takes a minute longer than the load.
`;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '4' }, help: { type: 'boolean', short: 'h' } },
});
if (values.help) process.stdout.write(HELP);
else await draw(Number(values.minutes));
process.exit();

async function draw(minutes: number): Promise<void> {
  if (!(minutes >= 1)) throw new Error('--minutes takes a number from 1');
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const world = await startWorld(SCRAPE_SECONDS);
  say(`Under load for ${minutes} minutes; Prometheus is at ${world.prometheus}`);
  // Rates need a few scrapes before the picture begins.
  const from = Date.now() / 1_000 + 6 * SCRAPE_SECONDS;
  await playStory(world, minutes + 0.5, say);
  const how = `A gateway under load for ${minutes} minutes: a reload and a refused one, a service that fails, then Redis and the identity provider away for a while`;
  const picture = await drawDashboard(world.prometheus, { from, to: Date.now() / 1_000 }, how);
  await sleep(SCRAPE_SECONDS);
  await world.stop();
  await mkdir(dirname(PICTURE), { recursive: true });
  await writeFile(PICTURE, picture);
  say(`${PICTURE}: ${Math.round(picture.length / 1_024)} KiB`);
}
