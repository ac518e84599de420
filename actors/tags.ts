/**
 * How we know an ENI that we made: only such ENIs are ever detached or deleted.
 *
 * Terway tags the creator alone, so two clusters of one account cannot tell their ENIs apart.
 */
/** Names the Create that made an ENI, so that it can be found when no answer told its id. */
export const REQUEST_TAG = 'enactor/request';
const CLUSTER_TAG = 'enactor/cluster';

export function ownTags(clusterId: string, instanceId: string): Readonly<Record<string, string>> {
  return {
    creator: 'enactor',
    'enactor/instance': instanceId,
    ...(clusterId === '' ? {} : { [CLUSTER_TAG]: clusterId }),
  };
}

/** An instance that another cluster had may bring along ENIs that are that one's: with another name in the tags they are not ours. */
export function isOurs(tags: Readonly<Record<string, string>>, instanceId: string, clusterId: string): boolean {
  const theirs = tags[CLUSTER_TAG] ?? '';
  const ofOurs = clusterId === '' || theirs === '' || theirs === clusterId;
  return tags.creator === 'enactor' && tags['enactor/instance'] === instanceId && ofOurs;
}
