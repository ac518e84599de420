/**
 * Changes of what describes an ENI, and tags.
 *
 * Source: ModifyNetworkInterfaceAttribute, TagResources.
 */
import { cloudError } from './errors.ts';
import { checkGroupRoom, checkGroups } from './pick-addresses.ts';
import type { Input } from './requests.ts';
import type { Moment, World } from './world.ts';

const TAGS_MAX = 20;
const TAG_KEY_MAX = 128;

export function modifyEni(world: World, input: Input<'ModifyNetworkInterfaceAttribute'>, moment: Moment): null {
  const eni = world.eni(input.eniId);
  if (eni.serviceManaged) throw cloudError('InvalidOperation.EniServiceManaged');
  const groups = input.securityGroupIds;
  if (groups !== null) {
    if (eni.type === 'Primary') throw cloudError('InvalidOperation.InvalidEniType');
    checkGroups(world, eni.vpcId, groups);
    const joined = groups.filter((id) => !eni.securityGroupIds.includes(id));
    checkGroupRoom(world, joined, eni.ipv4.length);
  }
  if (input.queueNumber !== null && eni.status !== 'Available') {
    const instance = eni.instanceId === null ? undefined : world.instances.get(eni.instanceId);
    if (eni.status !== 'InUse' || instance?.status !== 'Stopped') {
      throw cloudError('InvalidOperation.InvalidEniState', 'Available', eni.status);
    }
  }
  eni.name = input.name ?? eni.name;
  eni.description = input.description ?? eni.description;
  eni.deleteOnRelease = input.deleteOnRelease ?? eni.deleteOnRelease;
  eni.sourceDestCheck = input.sourceDestCheck ?? eni.sourceDestCheck;
  eni.queueNumber = input.queueNumber ?? eni.queueNumber;
  if (groups !== null) {
    eni.securityGroupIds = groups;
    world.emit({
      type: 'securityGroupsChanged',
      atMs: moment.nowMs,
      eniId: eni.eniId,
      securityGroupIds: groups,
    });
  }
  return null;
}

export function tagResources(world: World, input: Input<'TagResources'>): null {
  checkTags(input.tags);
  const resources = input.ids.map((id) => {
    const resource = taggable(world, input.resourceType, id);
    if (resource === undefined) throw cloudError('InvalidResourceId.NotFound', id);
    if (Object.keys({ ...resource.tags, ...input.tags }).length > TAGS_MAX) {
      throw cloudError('QuotaExceed.Tags', TAGS_MAX);
    }
    return resource;
  });
  for (const resource of resources) resource.tags = { ...resource.tags, ...input.tags };
  return null;
}

/** Refuses keys and values that the tag service does not take. */
export function checkTags(tags: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(tags)) {
    if (key === '' || key.length > TAG_KEY_MAX || /^(aliyun|acs:)/i.test(key) || /https?:\/\//.test(key)) {
      throw cloudError('InvalidTagKey.Malformed', key);
    }
    if (value.length > TAG_KEY_MAX || /https?:\/\//.test(value)) throw cloudError('InvalidTagValue.Malformed', value);
  }
  if (Object.keys(tags).length > TAGS_MAX) throw cloudError('QuotaExceed.Tags', TAGS_MAX);
}

function taggable(
  world: World,
  resourceType: string,
  id: string,
): { tags: Readonly<Record<string, string>> } | undefined {
  if (resourceType === 'eni') return world.enis.get(id);
  if (resourceType === 'instance') return world.instances.get(id);
  if (resourceType === 'securitygroup') return world.securityGroups.get(id);
  throw cloudError('InvalidResourceType.NotFound', resourceType);
}
