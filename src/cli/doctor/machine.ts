/** Whether the machine has all that the daemon makes use of there (core/host-needs.ts). */
import { type Check, ok, warning } from './check.ts';

export const machineCheck: Check = {
  name: 'machine',
  of({ machine }) {
    if (machine === undefined) return [];
    const { kernel, arch, glibc, node, lacks } = machine;
    if (lacks.length === 0) return [ok(`kernel ${kernel}, ${arch}, glibc ${glibc ?? 'none'}, Node ${node}`)];
    return lacks.map((says) => warning(says, 'take a newer kernel; deploy/operation.md, "Hosts", tells which'));
  },
};
