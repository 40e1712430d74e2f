import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { ensureInstalled } from '../../support/installed.ts';
import { type Application, run, startProgram } from '../application.ts';

const SERVICES = ['KV', 'Watch', 'Lease', 'Cluster', 'Maintenance'].map(name => `etcdserverpb.${name}`);

/** What etcdctl is asked; PREFIX stands for the run. */
const SCRIPT = `
set -eo pipefail
for i in 1 2 3; do etcdctl put $PREFIX/$i "value $i ä"; done
head -c 1000000 /dev/zero | tr '\\0' a | etcdctl put $PREFIX/long
etcdctl get --prefix $PREFIX/ --print-value-only | md5sum
printf 'value("%s/1") = "value 1 ä"\\n\\nput %s/won yes\\n\\nput %s/lost no\\n\\n' $PREFIX $PREFIX $PREFIX | etcdctl txn
etcdctl watch --prefix $PREFIX/ > watched & watch=$!
etcdctl watch --prefix $PREFIX/ --rev 1 > replayed & replay=$!
until [ $(wc -l < replayed) -ge 15 ]; do sleep 0.1; done
until [ $(wc -l < watched) -ge 3 ]; do etcdctl put $PREFIX/live now > written; sleep 0.1; done
kill $watch $replay
head -n 3 watched; head -n 15 replayed | sed s/$NAME/NAME/ | md5sum
lease=$(etcdctl lease grant 100 | cut -d ' ' -f 2)
etcdctl put $PREFIX/leased yes --lease $lease
etcdctl lease keep-alive --once $lease | cut -d ' ' -f 3-
etcdctl lease timetolive $lease --keys | grep -o 'attached.*'
etcdctl lease revoke $lease | cut -d ' ' -f 3-
etcdctl get $PREFIX/leased
etcdctl lock $PREFIX/lock etcdctl get $PREFIX/2
etcdctl member list | cut -d , -f 2-4
etcdctl endpoint health 2>&1 | grep -o 'is healthy'
etcdctl snapshot save snapshot-$NAME | cut -d ' ' -f -2
etcdctl del --prefix $PREFIX/
`;

/** gRPC of a server and a client in Go: calls, and streams in both directions that last. */
export const etcd: Application = {
  name: 'etcd 3.4',
  usedBy:
    '`etcdctl put`, `get`, `txn`, `watch`, `lease`, `lock`, `member`, `endpoint health`, `snapshot` and `del`',
  fetch() {
    ensureInstalled({ command: 'etcd', versionArgs: ['--version'], packages: ['etcd-server'] });
    ensureInstalled({ command: 'etcdctl', versionArgs: ['version'], packages: ['etcd-client'] });
  },
  grpc: SERVICES,
  async start(folder) {
    const [port, peers] = [await freePort(), await freePort()];
    const urls = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peers}`];
    const flags = [
      'listen-client-urls',
      'advertise-client-urls',
      'listen-peer-urls',
      'initial-advertise-peer-urls',
    ];
    const args = flags.map((flag, i) => `--${flag}=${urls[i >> 1]}`);
    const cluster = `--initial-cluster=default=${urls[1]}`;
    return startProgram(folder, port, 'etcd', `--data-dir=${join(folder, 'data')}`, cluster, ...args);
  },
  async use(url, folder, name) {
    const vars = [`ETCDCTL_ENDPOINTS=${url}`, `PREFIX=/${name}`, `NAME=${name}`];
    return (await run(folder, 'env', ...vars, 'bash', '-c', SCRIPT)).replaceAll(name, 'NAME');
  },
};
