/**
 * All paths on the oldest kernel that Debian's archive still has (5.10, of the age of Alibaba Cloud Linux 3's): the whole lab in a virtual machine. The host check finds
 * nothing that it lacks.
 */
import t from 'tap';
import { cannotRunLab, labPathsInVm } from './lab-paths.ts';

t.setTimeout(6_000_000);
const kernel = 'bullseye';
const skip = cannotRunLab([], kernel);

for (const mode of ['veth', 'VPCENI', 'VPCIP'])
  t.test(`oldest kernel: every path of pods with ${mode} is as it should be`, { skip }, async (t) => {
    const printed = await labPathsInVm({
      args: `--pods ${mode} --proxy iptables`,
      before: 'uname -r; node dist/enactor.js host --plugin /app/dist/enactor-cni',
      kernel,
      timeoutMs: 1_800_000,
    });
    t.comment(printed);
    t.match(printed, /^5\.10\./m);
    t.match(printed, /^5\.10\..*will do/m);
    t.match(printed, /^ended with 0$/m);
    t.match(printed, /^(\d+) of \1 paths are as they should be$/m);
    t.notMatch(printed, /the router refused/, 'no packet left by a wrong ENI');
  });
