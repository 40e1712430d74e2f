import { execFile, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { documentNamed } from '../../support/documents.ts';
import { clientIn, type ExampleClient } from '../../support/example-clients.ts';
import { tempFolder } from '../../support/temp.ts';

const run = promisify(execFile);
const DRIVER = join(import.meta.dirname, 'Driver.kt');
const POM = join(import.meta.dirname, 'pom.xml');

/** Compiles the client of docs/clients.md with a compiler that Maven fetches, in about six seconds of processor time, and runs it. */
export async function startKotlin(gateway: string): Promise<ExampleClient> {
  const folder = await tempFolder();
  const [source, classPathFile, out] = ['Client.kt', 'class-path', 'out'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(source, documentNamed('docs/clients.md').blockLines('kotlin').join('\n'));
  const goal = ['dependency:build-classpath', `-Dmdep.outputFile=${classPathFile}`];
  await run('mvn', ['-B', '-q', '-f', POM, ...goal]);
  const classPath = await readFile(classPathFile, 'utf8');
  const compiler = ['org.jetbrains.kotlin.cli.jvm.K2JVMCompiler', '-no-stdlib', '-no-reflect'];
  await run('java', [
    '-XX:TieredStopAtLevel=1',
    ...['-cp', classPath],
    ...compiler,
    ...['-cp', classPath, '-d', out],
    ...[source, DRIVER],
  ]);
  return clientIn(
    spawn('java', ['-cp', `${out}:${classPath}`, 'DriverKt', gateway], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
}
