import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

const SERVER = `
import hashlib
import streamlit as st
st.title('Ä')
given = st.file_uploader('file')
if given is not None:
    st.text(given.name + ' ' + hashlib.sha256(given.getvalue()).hexdigest())
st.text('x' * 2_000_000)
st.audio(b'RIFF' + b'y' * 100_000, format='audio/wav')
`;

const CLIENT = `
import hashlib, re, sys
import requests, websocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

url = sys.argv[1]
session = requests.Session()
page = session.get(url + '/')
print(page.status_code, page.headers['Content-Type'], page.headers.get('Cache-Control'))
for asset in sorted(set(re.findall(r'(?:src|href)="\\./([^"]+)"', page.text))):
    answer = session.get(url + '/' + asset)
    print(asset, answer.status_code, answer.headers['Content-Type'], hashlib.sha256(answer.content).hexdigest()[:8])
print(session.get(url + '/_stcore/health').text, session.get(url + '/_stcore/host-config').status_code)
xsrf = session.cookies['_streamlit_xsrf']
stream = websocket.create_connection('ws' + url[4:] + '/_stcore/stream', subprotocols=['streamlit', xsrf], origin=url, cookie='_streamlit_xsrf=' + xsrf, timeout=120)
print(stream.getsubprotocol())
def say(message):
    stream.send_binary(message.SerializeToString())
def hear(kind):
    seen = []
    while True:
        message = ForwardMsg()
        message.ParseFromString(stream.recv())
        if message.WhichOneof('type') == 'delta':
            element = message.delta.new_element
            seen.append(element)
        if message.WhichOneof('type') == 'new_session':
            hear.session = message.new_session.session_id if hasattr(message.new_session, 'session_id') else ''
        if message.WhichOneof('type') == kind:
            return message, seen
def told(seen):
    return [(kind, hashlib.sha256(e.text.body.encode()).hexdigest()[:8] if kind == 'text' else '') for e in seen if (kind := e.WhichOneof('type'))]
message = BackMsg()
message.rerun_script.query_string = ''
say(message)
_, seen = hear('script_finished')
print(told(seen))
[uploader] = [e.file_uploader for e in seen if e.WhichOneof('type') == 'file_uploader']
[audio] = [e.audio for e in seen if e.WhichOneof('type') == 'audio']
sound = session.get(url + audio.url)
print(sound.status_code, len(sound.content), session.get(url + audio.url, headers={'Range': 'bytes=0-3'}).content)
message = BackMsg()
message.file_urls_request.request_id = 'a'
message.file_urls_request.file_names.append('ä b.bin')
say(message)
[urls] = hear('file_urls_response')[0].file_urls_response.file_urls
long = hashlib.sha256(b'seed').digest() * 200_000
put = session.put(url + urls.upload_url, files={'file': ('ä b.bin', long)}, headers={'X-Xsrftoken': xsrf, 'Origin': url})
print('upload', put.status_code)
message = BackMsg()
state = message.rerun_script.widget_states.widgets.add()
state.id = uploader.id
info = state.file_uploader_state_value.uploaded_file_info.add()
info.file_id, info.name, info.size = urls.file_id, 'ä b.bin', len(long)
info.file_urls.CopyFrom(urls)
say(message)
_, seen = hear('script_finished')
print([e.text.body for e in seen if e.WhichOneof('type') == 'text' and len(e.text.body) < 1000] == ['ä b.bin ' + hashlib.sha256(long).hexdigest()], told(seen))
print('delete', session.delete(url + urls.delete_url, headers={'X-Xsrftoken': xsrf}).status_code)
try:
    websocket.create_connection('ws' + url[4:] + '/_stcore/stream', origin='http://elsewhere.example', timeout=60)
    print('a foreign page was let in')
except websocket.WebSocketBadStatusException as error:
    print('a foreign page', error.status_code)
`;

/** An app whose page is drawn over a WebSocket, with an upload. */
export const streamlit: Application = {
  name: 'Streamlit 1.67',
  usedBy:
    'requests and websocket-client, as its page does: page, stream, an upload of 6 MiB, a sound in ranges',
  pythonPackages: ['streamlit==1.67.0', 'requests==2.34.2', 'websocket-client==1.9.2'],
  route: { websocket: true },
  nginx: ['the upload of 6 MiB is refused: 413', /413/],
  async start(folder) {
    await writeFile(join(folder, 'client.py'), CLIENT);
    await writeFile(join(folder, 'app.py'), SERVER);
    const port = await freePort();
    const options = [
      '--server.address=127.0.0.1',
      `--server.port=${port}`,
      '--server.headless=true',
      '--browser.gatherUsageStats=false',
    ];
    return startProgram(folder, port, 'venv/bin/streamlit', 'run', 'app.py', ...options);
  },
  use: (url, folder) => run(folder, 'venv/bin/python', 'client.py', url),
};
