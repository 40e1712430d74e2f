import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

/** moto takes any signature, so this looks at each as a store must: by what came, byte for byte (AWS Signature Version 4). */
const SERVER = `
import hashlib, hmac, sys
from urllib.parse import parse_qsl, quote
from werkzeug.serving import run_simple
from moto.server import DomainDispatcherApplication, create_backend_app

moto = DomainDispatcherApplication(create_backend_app)

def is_signed(environ):
    path, _, query = environ['REQUEST_URI'].partition('?')
    fields = parse_qsl(query, keep_blank_values=True)
    signed = dict(fields)
    if 'X-Amz-Signature' in signed:
        scope, names, signature = (signed['X-Amz-' + name] for name in ('Credential', 'SignedHeaders', 'Signature'))
        moment, digest = signed['X-Amz-Date'], 'UNSIGNED-PAYLOAD'
    else:
        scope, names, signature = (part.split('=', 1)[1] for part in environ['HTTP_AUTHORIZATION'].split(' ', 1)[1].split(', '))
        moment, digest = environ['HTTP_X_AMZ_DATE'], environ['HTTP_X_AMZ_CONTENT_SHA256']
    def value(name):
        name = name.upper().replace('-', '_')
        return ' '.join(environ.get(name if name in ('CONTENT_TYPE', 'CONTENT_LENGTH') else 'HTTP_' + name, '').split())
    said = '&'.join(sorted(quote(n, safe='-_.~') + '=' + quote(v, safe='-_.~') for n, v in fields if n != 'X-Amz-Signature'))
    head = ''.join(name + ':' + value(name) + '\\n' for name in names.split(';'))
    asked = '\\n'.join([environ['REQUEST_METHOD'], path, said, head, names, digest])
    scope = scope.split('/', 1)[1]
    text = '\\n'.join(['AWS4-HMAC-SHA256', moment, scope, hashlib.sha256(asked.encode()).hexdigest()])
    key = b'AWS4b'
    for part in scope.split('/') + [text]:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex() == signature

def store(environ, start_response):
    if environ['PATH_INFO'] == '/' or is_signed(environ):
        return moto(environ, start_response)
    start_response('403 Forbidden', [('Content-Type', 'application/xml')])
    return [b'<Error><Code>SignatureDoesNotMatch</Code></Error>']

run_simple('127.0.0.1', int(sys.argv[1]), store, threaded=True)
`;

const CLIENT = `
import hashlib, sys, urllib.request
import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

url, bucket = sys.argv[1:]
options = dict(endpoint_url=url, region_name='us-east-1', aws_access_key_id='a', aws_secret_access_key='b')
s3 = boto3.client('s3', config=Config(signature_version='s3v4', s3={'addressing_style': 'path'}, retries={'total_max_attempts': 1}), **options)
said = []
# botocore signs the path as it sends it, and what it sends is what the store must be asked.
s3.meta.events.register('before-send.s3', lambda request, **_: said.append(request.headers.get('Expect')))
s3.create_bucket(Bucket=bucket)
keys = ['plain', 'with space', 'a+b', 'ä/ö', 'a%2Fb', 'a//b', '/leading', 'trailing/', 'a;b', 'x=1&y=2?z#f', 'quote"\\'()*!~', 'dot.', '...', '日本']
for key in keys:
    try:
        s3.put_object(Bucket=bucket, Key=key, Body=key.encode(), Metadata={'name': 'value'})
        got = s3.get_object(Bucket=bucket, Key=key)
        print(repr(key), got['Body'].read() == key.encode(), got['ETag'], got['Metadata'])
        signed = s3.generate_presigned_url('get_object', Params={'Bucket': bucket, 'Key': key})
        print('  presigned', urllib.request.urlopen(signed).read() == key.encode())
    except Exception as error:
        print(repr(key), type(error).__name__, error)
print(sorted(o['Key'] for o in s3.list_objects_v2(Bucket=bucket)['Contents']))
print(s3.list_objects_v2(Bucket=bucket, Prefix='a', Delimiter='/').get('CommonPrefixes'))
long = hashlib.sha256(b'seed').digest() * 600_000
open(bucket, 'wb').write(long)
parts = TransferConfig(multipart_threshold=5 * 1024 ** 2, multipart_chunksize=5 * 1024 ** 2, max_concurrency=4)
s3.upload_file(bucket, bucket, 'multipart', Config=parts)
s3.download_file(bucket, 'multipart', bucket + '.back', Config=parts)
print('multipart', open(bucket + '.back', 'rb').read() == long, s3.head_object(Bucket=bucket, Key='multipart')['ETag'])
print('range', s3.get_object(Bucket=bucket, Key='multipart', Range='bytes=7-11')['ContentRange'])
s3.copy_object(Bucket=bucket, Key='copy of ä', CopySource={'Bucket': bucket, 'Key': 'ä/ö'})
print('copy', s3.get_object(Bucket=bucket, Key='copy of ä')['Body'].read())
put = s3.generate_presigned_url('put_object', Params={'Bucket': bucket, 'Key': 'put by URL'})
urllib.request.urlopen(urllib.request.Request(put, b'x' * 100_000, method='PUT', headers={'Content-Type': ''})).read()
print('put by URL', s3.head_object(Bucket=bucket, Key='put by URL')['ContentLength'])
for call in [lambda: s3.get_object(Bucket=bucket, Key='none'), lambda: s3.get_object(Bucket=bucket, Key='plain', IfNoneMatch=s3.head_object(Bucket=bucket, Key='plain')['ETag'])]:
    try:
        call()
    except ClientError as error:
        print(error.response['Error']['Code'], error.response['ResponseMetadata']['HTTPStatusCode'])
s3.delete_objects(Bucket=bucket, Delete={'Objects': [{'Key': key} for key in keys]})
print(sorted(o['Key'] for o in s3.list_objects_v2(Bucket=bucket)['Contents']))
print('Expect: 100-continue', '100-continue' in said or b'100-continue' in said)
`;

/** An object store in memory. The paths are signed, and keys may be any text. */
export const boto3: Application = {
  name: 'object store (moto 5.2, and a check of each signature)',
  usedBy:
    'boto3 1.44: keys with odd characters (not a backslash, which is a 400 in any spelling), parts of 5 MiB, `Expect: 100-continue`, copies, presigned URLs',
  pythonPackages: ['moto[server,s3]==5.2.5', 'boto3==1.44.8'],
  route: { empty_segments: 'pass', encoded_slashes: 'pass', semicolons: 'pass' },
  nginx: ['the parts of 5 MiB are refused: 413', /413/],
  async start(folder) {
    await writeFile(join(folder, 'client.py'), CLIENT);
    await writeFile(join(folder, 'server.py'), SERVER);
    const port = await freePort();
    return startProgram(folder, port, 'venv/bin/python', 'server.py', `${port}`);
  },
  use: (url, folder, name) => run(folder, 'venv/bin/python', 'client.py', url, name),
};
