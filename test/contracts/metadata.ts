/** What port Metadata promises, run against the real adapter over the lab's HTTP and against its fake. */
import type { Test } from 'tap';
import type { Metadata } from '../../src/ports/metadata.ts';
import type { VpcModel } from '../../src/vpc/model.ts';

export type MetadataUnderTest = {
  readonly of: (instanceId: string) => Metadata;
  readonly model: VpcModel;
  readonly nowMs: () => number;
  readonly pass: (ms: number) => Promise<void>;
};

const INSTANCE = 'i-lab-node-1';
const never = new AbortController().signal;

export function metadataContract(
  t: Test,
  name: string,
  newMetadata: (t: Test) => Promise<MetadataUnderTest>,
  /** How late the service is. */
  lagMs: number,
): void {
  t.test(`${name}: the identity is that of the instance and its primary ENI`, async (t) => {
    const { of, model, nowMs } = await newMetadata(t);
    const truth = model.truth(nowMs());
    const primary = truth.enis.find((eni) => eni.instanceId === INSTANCE);
    t.strictSame(await of(INSTANCE).identity(never), {
      instanceId: INSTANCE,
      instanceType: 'ecs.g7.large',
      regionId: truth.regionId,
      zoneId: primary?.zoneId,
      vpcId: primary?.vpcId,
      vSwitchId: primary?.vSwitchId,
      primaryMac: primary?.mac,
      nodeIp: primary?.primaryIp,
    });
  });

  t.test(`${name}: an ENI is told of late, with all its addresses, and forgotten late`, async (t) => {
    const under = await newMetadata(t);
    const { model, nowMs, pass } = under;
    const metadata = under.of(INSTANCE);
    const made = {
      vSwitchId: 'vsw-lab-2',
      securityGroupIds: ['sg-lab'],
      instanceId: INSTANCE,
      secondaries: 2,
      ipv6: 1,
      tags: {},
      serviceManaged: false,
    };
    const [eniId = ''] = model.change({ change: 'createEni', ...made }, nowMs());
    t.equal((await metadata.enis(never)).length, 1, 'not yet');
    await pass(3 * lagMs);
    const truth = model.truth(nowMs()).enis.find((eni) => eni.eniId === eniId);
    const told = (await metadata.enis(never)).find((eni) => eni.eniId === eniId);
    t.strictSame(told, {
      mac: truth?.mac,
      eniId,
      vSwitchId: 'vsw-lab-2',
      vSwitchCidr: '192.168.1.0/24',
      gateway: '192.168.1.253',
      primaryIp: truth?.primaryIp,
      ipv4: truth?.ipv4,
      ipv6: truth?.ipv6,
      ipv6Gateway: '2001:db8:0:101:ffff:ffff:ffff:fff7',
      vSwitchIpv6Cidr: '2001:db8:0:101::/64',
    });
    model.change({ change: 'detachEni', eniId }, nowMs());
    t.equal((await metadata.enis(never)).length, 2, 'still');
    await pass(3 * lagMs);
    t.equal((await metadata.enis(never)).length, 1);
  });

  t.test(
    `${name}: an instance that is not there is a failure that names the path, and a signal ends a call`,
    async (t) => {
      const { of } = await newMetadata(t);
      await t.rejects(of('i-nobody').identity(never), {
        code: 'metadata',
        detail: /metadata \/latest\/meta-data\/.*HTTP 404/,
      });
      await t.rejects(of(INSTANCE).identity(AbortSignal.abort()), { name: 'AbortError' });
      await t.rejects(of(INSTANCE).enis(AbortSignal.abort()), { name: 'AbortError' });
    },
  );
}
