/** All pods of a node at one version, page by page. */
import type { Pod } from '../../ports/kubernetes.ts';
import type { ApiClient } from './api-client.ts';
import { podPage } from './kube-values.ts';
import { isGone } from './kubernetes-error.ts';

const PAGE_SIZE = 500;

/** A list whose next page has expired is started over once; any other failure fails the whole. */
export async function listPods(
  client: ApiClient,
  nodeName: string,
  signal: AbortSignal,
): Promise<{ readonly version: string; readonly pods: Pod[] }> {
  try {
    return await listPages(client, nodeName, signal);
  } catch (error) {
    if (!isGone(error)) throw error;
    return listPages(client, nodeName, signal);
  }
}

async function listPages(
  client: ApiClient,
  nodeName: string,
  signal: AbortSignal,
): Promise<{ version: string; pods: Pod[] }> {
  const pods: Pod[] = [];
  const query = { fieldSelector: `spec.nodeName=${nodeName}`, limit: PAGE_SIZE };
  for (let next: string | null = null; ; ) {
    const more: { continue?: string } = next === null ? {} : { continue: next };
    const page = podPage(
      await client.json({ method: 'GET', path: '/api/v1/pods', query: { ...query, ...more } }, signal),
    );
    pods.push(...page.pods);
    if (page.next === null) return { version: page.version, pods };
    next = page.next;
  }
}
