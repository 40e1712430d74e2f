import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

const CLIENT = `
import hashlib, os, sys
import requests
os.environ.update(MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT='true', MLFLOW_DISABLE_TELEMETRY='true')
from mlflow import MlflowClient, MlflowException
from mlflow.entities import Metric, Param

url, name = sys.argv[1:]
client = MlflowClient(tracking_uri=url, registry_uri=url)
experiment = client.create_experiment('Ä / ' + name, artifact_location='mlflow-artifacts:/' + name)
started = client.create_run(experiment, tags={'of': 'ä;b'}).info.run_id
client.log_batch(started, metrics=[Metric('loss/train', step / 7, 0, step) for step in range(1000)], params=[Param('p %d' % i, 'v' * 400) for i in range(100)])
client.log_metric(started, 'b', 0.5)
client.set_tag(started, 'long', 'x' * 5000)
read = client.get_run(started).data
print(len(read.params), read.metrics, {key: value[:3] for key, value in read.tags.items() if not key.startswith('mlflow')})
print(len(client.get_metric_history(started, 'loss/train')))
os.makedirs(name, exist_ok=True)
long = hashlib.sha256(b'seed').digest() * 200_000
for file, text in [('plain.txt', b'plain'), ('with space.txt', b'x'), ('ä 100% #1.txt', b'y'), ('a;b&c=d+e.txt', b'z'), ('empty', b''), ('long.bin', long)]:
    try:
        with open(os.path.join(name, file), 'wb') as out:
            out.write(text)
        client.log_artifact(started, os.path.join(name, file), 'in a/folder')
        back = client.download_artifacts(started, 'in a/folder/' + file)
        print(file, open(back, 'rb').read() == text)
    except Exception as error:
        print(file, type(error).__name__, error)
print([(file.path, file.file_size) for file in client.list_artifacts(started, 'in a/folder')])
client.create_registered_model('model of ' + name)
source = client.get_run(started).info.artifact_uri + '/in a/folder'
version = client.create_model_version('model of ' + name, source, started)
client.set_registered_model_alias('model of ' + name, 'best', version.version)
print(client.get_model_version_by_alias('model of ' + name, 'best').version)
print([found.info.run_id == started for found in client.search_runs([experiment], "metrics.b > 0.1 and params.\`p 1\` like 'v%'")])
client.set_terminated(started)
print(client.get_run(started).info.status)
try:
    client.get_run('none')
except MlflowException as error:
    print(error.error_code, error.get_http_status_code())
page = requests.get(url + '/')
print(page.status_code, page.headers['Content-Type'], hashlib.sha256(page.content).hexdigest()[:8])
`;

/** The server of experiments, with the artifacts that it keeps for its clients. */
export const mlflow: Application = {
  name: 'MLflow 3.17',
  usedBy: 'its client: runs, 1,000 metrics, artifacts of up to 6 MiB, models',
  pythonPackages: ['mlflow==3.17.2'],
  route: { semicolons: 'pass' },
  nginx: ['the artifact of 6 MiB is refused: 413', /long\.bin .*413/],
  async start(folder) {
    await writeFile(join(folder, 'client.py'), CLIENT);
    const port = await freePort();
    const options = [
      '--host=127.0.0.1',
      `--port=${port}`,
      '--workers=1',
      `--backend-store-uri=sqlite:///${folder}/mlflow.db`,
      '--artifacts-destination=artifacts',
    ];
    return startProgram(folder, port, 'venv/bin/mlflow', 'server', ...options);
  },
  use: (url, folder, name) => run(folder, 'venv/bin/python', 'client.py', url, name),
};
