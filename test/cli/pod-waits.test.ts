import t from 'tap';
import { gist } from '../../src/cli/lab-control.ts';

t.test('lab pod add: a reason is the same whatever call it is about', async (t) => {
  const dry = (request: string, api: string, until: string) =>
    `every vSwitch is on hold, the first until ${until} UTC: InvalidVSwitchId.IpNotEnough, request ${request}, ${api}: not enough`;
  const first = gist(dry('0-1A', 'AssignPrivateIpAddresses', '02:25:41'));
  t.equal(gist(dry('0-23', 'CreateNetworkInterface', '02:26:11')), first);
  t.not(gist('an ENI backs off after a failed call: InvalidVSwitchId.IpNotEnough'), first);
});
