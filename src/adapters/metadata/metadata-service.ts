/** Port Metadata over the instance's metadata service. */
import type { InstanceIdentity, Metadata, MetadataEni } from '../../ports/metadata.ts';
import { MetadataClient, type MetadataClientOptions, metadataClient, metadataError } from './metadata-client.ts';
import { cidrAt, ipAt, ipsAt, macAt, macsAt, nameAt } from './metadata-values.ts';

const MACS = 'network/interfaces/macs/';
/** ENIs read side by side; each takes up to nine requests, and the service limits their rate (429). */
const ENIS_AT_ONCE = 4;

export type MetadataServiceOptions = Partial<MetadataClientOptions>;

/** Over a client of its own with these options, or over one that others use too: they share its token. */
export function metadataService(over: MetadataServiceOptions | MetadataClient = {}): Metadata {
  return new MetadataService(over instanceof MetadataClient ? over : metadataClient(over));
}

class MetadataService implements Metadata {
  readonly #client: MetadataClient;

  constructor(client: MetadataClient) {
    this.#client = client;
  }

  async identity(signal: AbortSignal): Promise<InstanceIdentity> {
    const read = (path: string) => this.#required(path, signal);
    const name = async (path: string) => nameAt(path, await read(path));
    const [instanceId, instanceType, regionId, zoneId, vpcId, vSwitchId, primaryMac, nodeIp] = await Promise.all([
      name('instance-id'),
      name('instance/instance-type'),
      name('region-id'),
      name('zone-id'),
      name('vpc-id'),
      name('vswitch-id'),
      read('mac').then((text) => macAt('mac', text)),
      read('private-ipv4').then((text) => ipAt('private-ipv4', text, 4)),
    ]);
    return { instanceId, instanceType, regionId, zoneId, vpcId, vSwitchId, primaryMac, nodeIp };
  }

  async enis(signal: AbortSignal): Promise<MetadataEni[]> {
    const macs = await this.#macs(signal);
    const enis: (MetadataEni | null)[] = [];
    for (let index = 0; index < macs.length; index += ENIS_AT_ONCE) {
      const some = macs.slice(index, index + ENIS_AT_ONCE);
      enis.push(...(await Promise.all(some.map((mac) => this.#eniUnlessGone(mac, signal)))));
    }
    return enis.filter((eni) => eni !== null);
  }

  /** A detached ENI's directory goes while it is read: the list, asked again, tells that from a fault. */
  async #eniUnlessGone(mac: string, signal: AbortSignal): Promise<MetadataEni | null> {
    try {
      return await this.#eni(mac, signal);
    } catch (error) {
      signal.throwIfAborted();
      if ((await this.#macs(signal)).includes(mac)) throw error;
      return null;
    }
  }

  async #eni(mac: string, signal: AbortSignal): Promise<MetadataEni> {
    const at = (leaf: string) => `${MACS}${mac}/${leaf}`;
    const required = async <T>(leaf: string, parse: (path: string, text: string) => T) =>
      parse(at(leaf), await this.#required(at(leaf), signal));
    const optional = async <T>(leaf: string, parse: (path: string, text: string) => T): Promise<T | null> => {
      const text = await this.#client.get(at(leaf), signal);
      return text === null ? null : parse(at(leaf), text);
    };
    const [eniId, vSwitchId, vSwitchCidr, gateway, primaryIp, ipv4, ipv6, ipv6Gateway, vSwitchIpv6Cidr] =
      await Promise.all([
        required('network-interface-id', nameAt),
        required('vswitch-id', nameAt),
        required('vswitch-cidr-block', (path, text) => cidrAt(path, text, 4)),
        required('gateway', (path, text) => ipAt(path, text, 4)),
        required('primary-ip-address', (path, text) => ipAt(path, text, 4)),
        required('private-ipv4s', (path, text) => ipsAt(path, text, 4)),
        optional('ipv6s', (path, text) => ipsAt(path, text, 6)),
        optional('ipv6-gateway', (path, text) => ipAt(path, text, 6)),
        optional('vswitch-ipv6-cidr-block', (path, text) => cidrAt(path, text, 6)),
      ]);
    return {
      mac,
      eniId,
      vSwitchId,
      vSwitchCidr,
      gateway,
      primaryIp,
      ipv4,
      ipv6: ipv6 ?? [],
      ipv6Gateway,
      vSwitchIpv6Cidr,
    };
  }

  async #macs(signal: AbortSignal): Promise<string[]> {
    return macsAt(MACS, await this.#required(MACS, signal));
  }

  async #required(path: string, signal: AbortSignal): Promise<string> {
    const text = await this.#client.get(path, signal);
    if (text === null) throw metadataError(path, 'HTTP 404');
    return text;
  }
}
