/** `enactor lab cloud` and `enactor lab apiserver`: one part of the lab alone, until it is told to end. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { startApiServer } from '../lab/apiserver/api-server.ts';
import { parseListen } from '../lab/cloud/listening.ts';
import { type CloudOptions, runCloud } from '../lab/cloud/run-cloud.ts';
import { parseTopology } from '../lab/cloud/topology-file.ts';
import { parseProfile, withProfile } from '../vpc/cloud-profile.ts';
import { defaultSettings } from '../vpc/settings.ts';
import { CommandError, EXIT } from './exit-codes.ts';

export type CloudCommand = {
  readonly listen: string;
  /** `fast`, `realistic`, or the path of a measured one. */
  readonly profile: string;
  readonly topology: string | null;
  /** `INSTANCE=ADDR`, more places where an instance's metadata is served. */
  readonly metadata: readonly string[];
};

/** What a profile does not tell is as in `realistic`. */
async function behaviour(profile: string): Promise<Pick<CloudOptions, 'profile' | 'settings'>> {
  if (profile === 'fast' || profile === 'realistic') return { profile };
  const measured = parseProfile(await readFile(profile, 'utf8'));
  return { settings: withProfile(defaultSettings('realistic'), measured) };
}

/** A place that cannot be read or listened at is the caller's to mend: a sentence, and no stack. */
async function asSentence<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError(EXIT.usage, error.message);
    if (error instanceof Error && 'code' in error) throw new CommandError(EXIT.failed, error.message);
    throw error;
  }
}

/** Throws CommandError that names the file, and the first field that cannot be. */
async function topologyIn(file: string): Promise<ReturnType<typeof parseTopology>> {
  const text = await readFile(file, 'utf8');
  try {
    return parseTopology(JSON.parse(text));
  } catch (error) {
    const [issue] = (error as { issues?: readonly { path: readonly PropertyKey[]; message: string }[] }).issues ?? [];
    const why = issue === undefined ? (error as Error).message : `${issue.path.map(String).join('.')} ${issue.message}`;
    throw new CommandError(EXIT.usage, `--topology ${file}: ${why.trim()}`);
  }
}

export async function labCloud({ listen, profile, topology, metadata }: CloudCommand): Promise<number> {
  const doors = metadata.map((text) => {
    const [instanceId = '', place] = text.split('=');
    if (instanceId === '' || place === undefined) {
      throw new CommandError(
        EXIT.usage,
        `--metadata ${text}: write it INSTANCE=ADDR, such as i-lab-node-1=127.0.0.1:8000`,
      );
    }
    return { instanceId, listen: place };
  });
  const cloud = await asSentence(async () =>
    runCloud({
      listen,
      ...(await behaviour(profile)),
      metadata: doors,
      ...(topology === null ? {} : { topology: await topologyIn(topology) }),
    }),
  );
  process.stdout.write(`OpenAPI  ${cloud.url}\nadmin    ${cloud.adminUrl}\n`);
  for (const { instanceId, url } of cloud.doors.list()) process.stdout.write(`metadata ${url} (${instanceId})\n`);
  await told();
  await cloud.close();
  return EXIT.ok;
}

export async function labApiServer(listen: string, kubeconfigPath: string | null): Promise<number> {
  const api = await asSentence(async () =>
    startApiServer({ listen: parseListen(listen), ...(kubeconfigPath === null ? {} : { kubeconfigPath }) }),
  );
  process.stdout.write(`API server ${api.url}\n`);
  process.stdout.write(
    kubeconfigPath === null ? `${JSON.stringify(api.kubeconfig, null, 2)}\n` : `kubeconfig ${kubeconfigPath}\n`,
  );
  await told();
  await api.close();
  return EXIT.ok;
}

async function told(): Promise<void> {
  process.stderr.write('Ctrl-C ends it\n');
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}
