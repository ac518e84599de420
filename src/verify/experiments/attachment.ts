/** Attach, the guest's device, metadata, and Detach. Needs an instance with a slot to spare; metadata only where this runs on it. */
import type { Bench } from '../bench.ts';
import { notTried, toldApart } from '../finding.ts';
import type { SeenEni } from '../raw-cloud.ts';
import { refusal } from './refusal.ts';

const UNKNOWN_INSTANCE = 'i-enactor0verify0none';
const INVALID_STATE = ['InvalidOperation.InvalidEniState'];
/** No instance type gives an ENI so many addresses. */
const TOO_MANY = 49;

export async function attachment(bench: Bench, eni: SeenEni): Promise<void> {
  const { raw, plan } = bench;
  const { eniId } = eni;
  const nobody = await raw.attach(eniId, UNKNOWN_INSTANCE);
  bench.found(
    refusal(
      'unknownInstance',
      'an unknown instance is refused by name',
      ['InvalidInstanceId.NotFound', 'InvalidEcsId.NotFound'],
      nobody,
    ),
  );
  const { instanceId } = plan;
  const untried = 'no instance was named';
  if (instanceId === null) {
    for (const [name, assumed] of NEED_INSTANCE) bench.found(notTried(name, assumed, untried));
    return;
  }

  bench.doing(`the ENI is not attached, and is to be detached from ${instanceId}`);
  const loose = await raw.detach(eniId, instanceId);
  const detachAvailable = loose.ok ? 'accept' : 'refuse';
  const assumedLoose = 'Detach of an ENI that is Available is refused for its state';
  if (loose.ok || INVALID_STATE.includes(loose.code))
    bench.found(
      toldApart<'refuse' | 'accept'>(
        ...(['detachAvailable', assumedLoose, 'refuse', detachAvailable, { detachAvailable, delays: {} }] as const),
        (one) => (one === 'refuse' ? 'refused' : 'taken for done'),
      ),
    );
  else bench.found(refusal('detachAvailable', assumedLoose, INVALID_STATE, loose));

  bench.doing(`the ENI is attached to ${instanceId}`);
  const attached = await raw.attach(eniId, instanceId);
  if (!attached.ok) {
    bench.found(refusal('attach', `the ENI can be attached to ${instanceId}`, [], attached));
    return;
  }
  bench.callTimed('attachCallMs', attached.ms);
  const inUseMs = await bench.until(async () => (await bench.eni(eniId))?.status === 'InUse');
  bench.awaited('attachingMs', inUseMs);
  if (inUseMs === null) return;
  await Promise.all([
    bench.hasDevice === null ? null : deviceSeen(bench, eni.mac, bench.hasDevice),
    directorySeen(bench, eni.mac, true),
  ]);

  const early = await raw.remove(eniId);
  bench.found(refusal('deleteInUse', 'an ENI that is InUse cannot be deleted', INVALID_STATE, early));
  const many = await raw.assign(eniId, TOO_MANY);
  bench.found(
    refusal(
      'tooMany',
      'more addresses than the instance type allows are refused as a whole',
      ['InvalidOperation.Ipv4CountExceeded', 'MaxEniPrivateIpsCountExceeded'],
      many,
    ),
  );
  if (many.ok) await raw.unassign(eniId, many.value);
  await metadataForms(bench, eni);
  await addressesSeen(bench, eni);

  bench.doing(`the ENI is detached from ${instanceId}`);
  const detached = await raw.detach(eniId, instanceId);
  if (!detached.ok) {
    bench.found(refusal('detach', 'an ENI that is InUse can be detached', [], detached));
    return;
  }
  bench.callTimed('detachCallMs', detached.ms);
  bench.awaited('detachingMs', await bench.until(async () => (await bench.eni(eniId))?.status === 'Available'));
  await directorySeen(bench, eni.mac, false);
}

const NEED_INSTANCE = [
  ['detachAvailable', 'Detach of an ENI that is Available is refused for its state'],
  ['deleteInUse', 'an ENI that is InUse cannot be deleted'],
  ['tooMany', 'more addresses than the instance type allows are refused as a whole'],
] as const;

async function deviceSeen(bench: Bench, mac: string, hasDevice: (mac: string) => boolean): Promise<void> {
  bench.awaited('deviceMs', await bench.until(() => hasDevice(mac)));
}

async function directorySeen(bench: Bench, mac: string, there: boolean): Promise<void> {
  const { metadata } = bench;
  if (metadata === null) return;
  const listed = async () => {
    const { text } = await metadata.leaf('network/interfaces/macs/');
    return text.toLowerCase().includes(mac) === there;
  };
  bench.awaited('metadataMacMs', await bench.until(listed));
}

async function addressesSeen(bench: Bench, eni: SeenEni): Promise<void> {
  const { raw, metadata } = bench;
  const assigned = await raw.assign(eni.eniId, 1);
  if (!assigned.ok) return bench.found(refusal('assignInUse', 'an ENI that is InUse takes addresses', [], assigned));
  bench.callTimed('assignCallMs', assigned.ms);
  const [ip = ''] = assigned.value;
  const told = async () => {
    const { text } = (await metadata?.leaf(`network/interfaces/macs/${eni.mac}/private-ipv4s`)) ?? { text: '' };
    return text.includes(`"${ip}"`);
  };
  if (metadata !== null) bench.awaited('metadataAddressMs', await bench.until(told));
  const gone = await raw.unassign(eni.eniId, assigned.value);
  if (gone.ok && metadata !== null) bench.awaited('metadataAddressMs', await bench.until(async () => !(await told())));
}

/** What the leaves look like, letter by letter. */
async function metadataForms(bench: Bench, eni: SeenEni): Promise<void> {
  const { metadata } = bench;
  const forms = [
    ['newline', 'network/interfaces/macs/MAC/network-interface-id', 'leaves have no newline at their end'],
    ['jsonAddresses', 'network/interfaces/macs/MAC/private-ipv4s', 'private-ipv4s is a JSON array'],
    ['noPrefixes', 'network/interfaces/macs/MAC/ipv4-prefixes', 'ipv4-prefixes is 404 where there are none'],
    ['noIpv6s', 'network/interfaces/macs/MAC/ipv6s', 'ipv6s is 404 where there are none'],
    ['directories', 'network/interfaces/macs/', 'entries with children end in a slash'],
  ] as const;
  for (const [name, path, assumed] of forms) {
    if (metadata === null) {
      bench.found(notTried(name, assumed, 'this machine is not that instance'));
      continue;
    }
    const { status, text } = await metadata.leaf(path.replace('MAC', eni.mac));
    const holds = {
      newline: status === 200 && !text.endsWith('\n'),
      jsonAddresses: isJsonArray(text),
      noPrefixes: status === 404,
      noIpv6s: status === 404,
      directories: text.split('\n').every((line) => line === '' || line.endsWith('/')),
    }[name];
    const seen = holds ? 'so it is' : `${status} ${JSON.stringify(text.slice(0, 80))}`;
    bench.found({ name, assumed, seen, verdict: holds ? 'agrees' : 'differs', settings: null });
  }
}

function isJsonArray(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}
