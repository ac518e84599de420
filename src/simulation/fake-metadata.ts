/** Port Metadata over the model: the fake of src/adapters/metadata, held to the same contract suite (test/contracts/metadata.ts). */
import { EnactorError } from '../core/errors.ts';
import type { Metadata } from '../ports/metadata.ts';
import type { MetadataView } from '../vpc/metadata-view.ts';
import type { Life } from './life.ts';
import type { VirtualCloud } from './virtual-cloud.ts';

export type FakeMetadataOptions = {
  readonly cloud: VirtualCloud;
  readonly instanceId: string;
  readonly life: Life;
  /** Of one answer. */
  readonly delayMs?: () => number;
  /** Asked once a call: why it fails, or null. */
  readonly failing?: () => string | null;
};

export function fakeMetadata(options: FakeMetadataOptions): Metadata {
  const { cloud, instanceId, life, delayMs = () => 0, failing = () => null } = options;

  function read<T>(signal: AbortSignal, of: (view: MetadataView) => T): Promise<T> {
    return life.promise((resolve, reject) => {
      const abort = (): void => reject(signal.reason);
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      life.after(delayMs(), () => {
        signal.removeEventListener('abort', abort);
        const failure = failing();
        const view = failure === null ? cloud.model.metadata(instanceId, life.nowMs()) : null;
        if (failure !== null) reject(new EnactorError('metadata', `metadata /latest/meta-data/: ${failure}`));
        else if (view === null)
          reject(new EnactorError('metadata', 'metadata /latest/meta-data/instance-id: HTTP 404'));
        else resolve(of(view));
      });
    });
  }

  return {
    identity: (signal) =>
      read(signal, ({ instanceType, regionId, zoneId, enis }) => {
        const [primary] = enis;
        if (primary === undefined) throw new EnactorError('metadata', 'metadata /latest/meta-data/mac: HTTP 404');
        const { vpcId, vSwitchId, mac, primaryIp } = primary;
        return { instanceId, instanceType, regionId, zoneId, vpcId, vSwitchId, primaryMac: mac, nodeIp: primaryIp };
      }),
    enis: (signal) =>
      read(signal, ({ enis }) =>
        enis.map((eni) => ({
          mac: eni.mac,
          eniId: eni.eniId,
          vSwitchId: eni.vSwitchId,
          vSwitchCidr: eni.vSwitchCidr,
          gateway: eni.gateway,
          primaryIp: eni.primaryIp,
          ipv4: [...eni.ipv4],
          ipv6: [...eni.ipv6],
          ipv6Gateway: eni.ipv6Gateway,
          vSwitchIpv6Cidr: eni.vSwitchIpv6Cidr,
        })),
      ),
  };
}
