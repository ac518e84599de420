/**
 * What is wrong, or soon will be, with the security groups of a node's ENIs.
 *
 * Source: ECS "Security groups": members of an enterprise group do not reach each other by default; a normal group takes 2,000 private
 * addresses, an enterprise one 65,536. Groups of an ENI stay as they were when it was made, whatever the primary one's become.
 */
import type { CloudEni } from './eni.ts';

export type GroupCase = 'isolates' | 'full' | 'nearlyFull' | 'differs' | 'missing';

export type GroupFinding = {
  readonly case: GroupCase;
  readonly groupIds: readonly string[];
  /** ENIs that it is about. */
  readonly eniIds: readonly string[];
  readonly says: string;
  readonly whatToDo: string;
};

type Group = {
  readonly securityGroupId: string;
  readonly type: 'normal' | 'enterprise';
  readonly addresses: number | null;
  readonly addressesAvailable: number | null;
};

type Eni = Pick<CloudEni, 'eniId' | 'type' | 'securityGroupIds'>;

export type GroupView = {
  readonly groups: readonly Group[];
  /** All of the instance; ours are those that the node manages. */
  readonly primary: Eni | null;
  readonly ours: readonly Eni[];
  /** null: those of the primary ENI. */
  readonly configured: readonly string[] | null;
};

/** Less than this share left is told before it ends. */
const NEARLY_FULL_SHARE = 0.05;

export function groupFindings({ groups, primary, ours, configured }: GroupView): readonly GroupFinding[] {
  const wanted = configured ?? primary?.securityGroupIds ?? [];
  const enisIn = (id: string) => ours.filter((eni) => eni.securityGroupIds.includes(id)).map(({ eniId }) => eniId);
  const used = groups.filter(({ securityGroupId: id }) => enisIn(id).length > 0 || wanted.includes(id));
  const known = new Set(groups.map(({ securityGroupId }) => securityGroupId));
  const missing = wanted.filter((id) => !known.has(id));
  const other = ours.filter((eni) => !sameIds(eni.securityGroupIds, wanted));
  const about = (id: string) => ({ groupIds: [id], eniIds: enisIn(id) });
  return [
    ...missing.map(
      (id): GroupFinding => ({
        case: 'missing',
        ...about(id),
        says: `security group ${id} does not exist in this account and region`,
        whatToDo: 'name groups of the VPC in security_groups, or none',
      }),
    ),
    ...used.flatMap((group): GroupFinding[] => {
      const { securityGroupId: id, type, addresses, addressesAvailable: left } = group;
      const isolating: GroupFinding[] =
        type === 'normal'
          ? []
          : [
              {
                case: 'isolates',
                ...about(id),
                says: `security group ${id} is of type enterprise: its members do not reach each other unless a rule allows it`,
                whatToDo: 'add rules that allow the pods’ prefixes both ways, or use a group of the normal type',
              },
            ];
      if (left === null) return isolating;
      const holds = addresses === null ? '' : ` of ${addresses + left}`;
      const another = 'name another group in security_groups for new ENIs, or move to one of type enterprise';
      if (left <= 0)
        return [
          ...isolating,
          {
            case: 'full',
            ...about(id),
            says: `security group ${id} is full: it takes none more${holds} addresses (SecurityGroupInstanceLimitExceed)`,
            whatToDo: another,
          },
        ];
      const share = addresses === null ? 1 : left / (addresses + left);
      if (share >= NEARLY_FULL_SHARE) return isolating;
      const says = `security group ${id} is nearly full: it takes ${left} more${holds} addresses`;
      return [...isolating, { case: 'nearlyFull', ...about(id), says, whatToDo: another }];
    }),
    ...(other.length === 0 || wanted.length === 0
      ? []
      : [
          {
            case: 'differs' as const,
            groupIds: [...wanted],
            eniIds: other.map(({ eniId }) => eniId),
            says: `${other.map((eni) => `${eni.eniId} is in ${eni.securityGroupIds.join(', ')}`).join('; ')}, new ENIs will be in ${wanted.join(', ')}${configured === null ? ', as the primary ENI is now' : ''}`,
            whatToDo: 'set the groups of these ENIs by hand, or drain the node so that its ENIs are made anew',
          },
        ]),
  ];
}

/** Order does not count. */
export function sameIds(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id));
}
