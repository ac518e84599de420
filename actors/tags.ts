/**
 * How we know an ENI that we made: only such ENIs are ever detached or deleted.
 *
 * Terway tags the creator alone, so two clusters of one account cannot tell their ENIs apart.
 */
/** Names the Create that made an ENI, so that it can be found when no answer told its id. */
export const REQUEST_TAG = 'enactor/request';

export function ownTags(clusterId: string, instanceId: string): Readonly<Record<string, string>> {
  return {
    creator: 'enactor',
    'enactor/instance': instanceId,
    ...(clusterId === '' ? {} : { 'enactor/cluster': clusterId }),
  };
}

export function isOurs(tags: Readonly<Record<string, string>>, instanceId: string): boolean {
  return tags.creator === 'enactor' && tags['enactor/instance'] === instanceId;
}
