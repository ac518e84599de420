/** The daemon's ears for its configuration: the file, the node's label and the ConfigMap that it names. */
import type { Config } from '../core/config.ts';
import type { Kubernetes, Node } from '../ports/kubernetes.ts';
import type { Log } from '../ports/log.ts';
import type { ConfigKeeper, ConfigNews, Take } from './config-keeper.ts';
import { watchFile } from './file-watch.ts';
import type { Flags } from './flags.ts';
import { type Overlay, watchOverlay } from './overlay-watch.ts';

export type OverlayEars = {
  /** Resolves when it is known which overlay there is, if any. */
  readonly first: Promise<void>;
  /** `tell` hears whether the node is cordoned, beginning with now if it is. */
  onCordon(tell: (cordoned: boolean) => void): void;
};

export function hearOverlay(
  { nodeName, namespace }: Pick<Flags, 'nodeName' | 'namespace'>,
  keeper: ConfigKeeper,
  kubernetes: Kubernetes,
  log: Log,
  end: AbortSignal,
): OverlayEars {
  let cordoned = false;
  let tellCordon: (is: boolean) => void = () => {};
  const onNode = ({ unschedulable }: Node): void => {
    if (unschedulable === cordoned) return;
    cordoned = unschedulable;
    log.info({ cordoned }, cordoned ? 'the node is cordoned' : 'the node is not cordoned any more');
    tellCordon(cordoned);
  };
  const first = new Promise<void>((resolve) => {
    const onOverlay = (overlay: Overlay): void => {
      keeper.overlaySaid(overlay);
      resolve();
    };
    // Whoever waits for the API server's client hears why there is none.
    watchOverlay({ kubernetes, nodeName, namespace, log, onOverlay, onNode }, end).catch(() => {});
  });
  return {
    first,
    onCordon: (tell) => {
      tellCordon = tell;
      if (cordoned) tell(cordoned);
    },
  };
}

export type FollowConfig = {
  readonly flags: Pick<Flags, 'config' | 'nodeName'>;
  readonly keeper: ConfigKeeper;
  readonly kubernetes: Pick<Kubernetes, 'recordEvent'>;
  readonly log: Log;
  readonly take: Take;
  /** After each change that was taken. */
  readonly taken: (config: Config) => void;
};

/** From now on what is written is taken by the running node, and the node's events tell of it. Ends with `end`. */
export function followConfig({ flags, keeper, kubernetes, log, take, taken }: FollowConfig, end: AbortSignal): void {
  const tell = (news: ConfigNews): void => {
    const target = { kind: 'node', name: flags.nodeName, uid: null } as const;
    kubernetes.recordEvent({ target, ...news }, end).catch((thrown: unknown) => {
      log.debug({ err: String(thrown) }, 'an event could not be recorded');
    });
  };
  const takeAll: Take = async (config, signal) => {
    await take(config, signal);
    taken(config);
  };
  void keeper.follow(takeAll, tell, end);
  void watchFile(flags.config, keeper.fileText, (sight) => keeper.fileSaid(sight), end);
}
