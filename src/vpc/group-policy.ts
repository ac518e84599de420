/**
 * Who may reach whom, as far as security groups say.
 *
 * Source: ECS "Security groups": members of a normal group reach each other by default, those of an enterprise group do not; what comes
 * from elsewhere needs a rule. Rules here accept whole groups, or everybody; ports, prefixes, priorities and rules for what goes out are
 * not modelled.
 */
import type { SecurityGroupSpec } from './topology.ts';

type Group = Pick<SecurityGroupSpec, 'securityGroupId' | 'type' | 'accepts'>;

/** A rule's word for everybody. */
export const ANYBODY = 'any';

/** Whether an ENI in the groups `to` takes what comes from one in the groups `from`: one group that does is enough. */
export function groupsAccept(from: readonly string[], to: readonly Group[]): boolean {
  return to.some(({ securityGroupId, type, accepts = [] }) => {
    if (type === 'normal' && from.includes(securityGroupId)) return true;
    return accepts.some((one) => one === ANYBODY || from.includes(one));
  });
}
