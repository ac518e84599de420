/**
 * From inside one container asks the web server of another which source address it saw.
 *
 * By `nc`: Debian's static `wget` crashes inside glibc's name service, as soon as it looks up the port of "http".
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { WEB_PORT } from './busybox-image.ts';
import type { CriClient } from './cri-client.ts';

const CONNECT_TIMEOUT_S = 5;
/** What a pod runs listens a moment after it was started. */
const LISTEN_TRIES = 20;
const LISTEN_PAUSE_MS = 100;

/** The caller's address as the far end saw it; rejects with what went wrong when there was no answer. */
export async function sourceSeenBy(cri: CriClient, containerId: string, ip: string): Promise<string> {
  const request = "printf 'GET /cgi-bin/source HTTP/1.0\\r\\n\\r\\n'";
  const ask = () => cri.exec(containerId, ['sh', '-c', `${request} | nc -w ${CONNECT_TIMEOUT_S} ${ip} ${WEB_PORT}`]);
  let reply = await ask();
  // The far end is reached, and what it runs does not listen yet.
  for (let tries = 1; tries < LISTEN_TRIES && /Connection refused/.test(reply.stderr); tries += 1) {
    await sleep(LISTEN_PAUSE_MS);
    reply = await ask();
  }
  const [head = '', body = ''] = reply.stdout.split('\r\n\r\n');
  if (reply.exitCode !== 0 || !/^HTTP\/1\.[01] 200/.test(head))
    throw new Error(`no answer from ${ip}: exit ${reply.exitCode}, ${JSON.stringify(reply.stdout + reply.stderr)}`);
  // httpd listens on IPv6 for both families, and writes an IPv6 caller in brackets.
  return body
    .trim()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^::ffff:/, '');
}
