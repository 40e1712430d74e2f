// Run by "helm test". Any response of the gateway to a client will do: its status depends on the configuration.
const { READY, CLIENT } = process.env;
const ready = await fetch(READY);
console.log(`${READY}: ${ready.status} ${await ready.text()}`);
if (!ready.ok) process.exitCode = 1;
if (CLIENT !== undefined) {
  const response = await fetch(CLIENT, { redirect: 'manual' });
  console.log(`${CLIENT}: ${response.status}`);
  if (!response.headers.has('X-Request-Id')) process.exitCode = 1;
}
