/**
 * F9 with grpc-go itself, as old as in Terway's plugins up to v1.9.3: Debian's golang-google-grpc-dev (1.33), built here. Without a Go
 * compiler and that package it says so; f09-plugins-with-older-grpc.test.ts asks the same by hand.
 */
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { grpcServer } from '../../src/adapters/grpc/grpc-server.ts';
import { bindUnixSocket } from '../../src/adapters/http/unix-socket.ts';
import { silentLog } from '../../src/adapters/logging/silent-log.ts';
import { fakeBackend, fullReply } from '../adapters/http/fake-backend.ts';
import { shortDirectory } from '../adapters/http/short-directory.ts';

const LIBRARIES = '/usr/share/gocode';
const BUILD_TIMEOUT_MS = 300_000;
t.setTimeout(BUILD_TIMEOUT_MS + 60_000);

function cannotBuild(): string | false {
  if (!existsSync(join(LIBRARIES, 'src/google.golang.org/grpc'))) return 'golang-google-grpc-dev is not installed';
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'there is no Go compiler';
  }
}

t.test('F9: a plugin of grpc-go 1.33 is served', { skip: cannotBuild() }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'enactor-f09-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, 'src/asker'), { recursive: true });
  copyFileSync(new URL('grpc-go/main.go', import.meta.url), join(dir, 'src/asker/main.go'));
  const asker = join(dir, 'asker');
  execFileSync('go', ['build', '-o', asker, 'asker'], {
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: BUILD_TIMEOUT_MS,
    env: { ...process.env, GO111MODULE: 'off', GOPATH: `${dir}:${LIBRARIES}`, GOFLAGS: '', CGO_ENABLED: '0' },
  });
  const path = join(shortDirectory(t), 's');
  const { backend, seen } = fakeBackend(() => fullReply);
  const server = grpcServer(backend, silentLog);
  const bound = await bindUnixSocket(server.listener, path);
  t.teardown(() => {
    bound.close();
    server.destroy();
  });
  const { stdout } = await promisify(execFile)(asker, [path], { timeout: 60_000 });
  t.match(stdout, /^grpc-go 1\.\d+\.\d+ was answered 300 times/);
  t.equal(seen.length, 300);
  t.match(seen.at(-1)?.request, { K8sPodName: 'p', K8sPodNamespace: 'ns' });
});
