import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

const SERVER = `
import hashlib, sys
import gradio

def count(times):
    for i in range(int(times)):
        yield i

def digest(path):
    with open(path, 'rb') as file:
        data = file.read()
    back = path + '.back'
    with open(back, 'wb') as file:
        file.write(data[::-1])
    return hashlib.sha256(data).hexdigest(), back

def fail(text):
    raise gradio.Error('told ' + text)

with gradio.Blocks() as app:
    number, text, file, back = gradio.Number(), gradio.Textbox(), gradio.File(), gradio.File()
    gradio.Button('count').click(count, number, number, api_name='count')
    gradio.Button('digest').click(digest, file, [text, back], api_name='digest')
    gradio.Button('fail').click(fail, text, text, api_name='fail')
app.queue().launch(server_name='127.0.0.1', server_port=int(sys.argv[1]), show_error=True, quiet=True)
`;

const CLIENT = `
import hashlib, sys
import httpx
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

url, name = sys.argv[1:]
page = httpx.get(url + '/')
print(page.status_code, page.headers['content-type'])
client = Client(url, verbose=False)
job = client.submit(20, api_name='/count')
job.result(timeout=120)
print(job.outputs())
long = hashlib.sha256(b'seed').digest() * 200_000
file = 'ä b ' + name + '.bin'
with open(file, 'wb') as out:
    out.write(long)
told, back = client.predict(handle_file(file), api_name='/digest')
print(told == hashlib.sha256(long).hexdigest(), open(back, 'rb').read() == long[::-1])
try:
    client.predict('ä', api_name='/fail')
except AppError as error:
    print(error)
`;

/** Functions behind a queue, whose results come as server-sent events. */
export const gradio: Application = {
  name: 'Gradio 6.31',
  usedBy: 'gradio_client 2.7: results one by one as events, files of 6 MiB both ways, an error',
  pythonPackages: ['gradio==6.31.0', 'gradio_client==2.7.2'],
  nginx: ['the file of 6 MiB is refused: 413', /413/],
  async start(folder) {
    await writeFile(join(folder, 'client.py'), CLIENT);
    await writeFile(join(folder, 'server.py'), SERVER);
    const port = await freePort();
    return startProgram(folder, port, 'venv/bin/python', 'server.py', `${port}`);
  },
  use: (url, folder, name) => run(folder, 'venv/bin/python', 'client.py', url, name),
};
