/** Whether the node serves, and who is missing; whether its store can be written. */
import { forHowLong, nodeWord } from '../../lab/view/words.ts';
import { type Check, ok, problem, warning } from './check.ts';

export const healthCheck: Check = {
  name: 'node',
  of({ state, missing }) {
    const word = nodeWord(state);
    if (state.split('.').includes('serving') && missing.length === 0) return [ok(word)];
    const lacks = missing.length === 0 ? '' : `, missing ${missing.join(', ')}`;
    return [problem(`${word}${lacks}`, 'see the log of enactord; it goes on by itself when what is missing is back')];
  },
};

export const storeCheck: Check = {
  name: 'store',
  of({ store }, nowMs) {
    if (store === undefined) return [];
    const { failing, setAside } = store;
    if (failing !== null)
      return [
        problem(
          `cannot be written for ${forHowLong(nowMs - failing.sinceMs)}: ${failing.why}`,
          'make room on the disk of the data directory, or mend it; pods go on, new ones wait',
        ),
      ];
    if (setAside !== null)
      return [
        warning(`was set aside: ${setAside.why}`, `study ${setAside.path}, then delete it; nothing else is needed`),
      ];
    return [ok('can be written')];
  },
};

/** As long as an ENI may take to come. */
const WAIT_MS = 30_000;

export const waitingCheck: Check = {
  name: 'waiting',
  of({ waiting }, nowMs) {
    const [first] = waiting.toSorted((one, other) => one.sinceMs - other.sinceMs);
    if (first === undefined) return [ok('no pod waits for an address')];
    const says = `${waiting.length === 1 ? '1 pod waits' : `${waiting.length} pods wait`} for an address, ${first.pod} for ${forHowLong(nowMs - first.sinceMs)}: ${first.reason}`;
    const whatToDo = `enactor why ${first.pod} tells what refuses, and when the next try is`;
    return [nowMs - first.sinceMs < WAIT_MS ? warning(says, whatToDo) : problem(says, whatToDo)];
  },
};

/** Causes that pods were refused for lately, each once, with the newest one's words. */
export const refusalsCheck: Check = {
  name: 'pods',
  of({ refusals = [] }, nowMs) {
    const byCode = new Map(refusals.toReversed().map((refusal) => [refusal.code, refusal]));
    if (byCode.size === 0) return [ok('none was refused lately')];
    return [...byCode.values()].map(({ code, pod, detail, atMs }) => {
      const others = refusals.filter((one) => one.code === code).length - 1;
      const who = others === 0 ? pod : `${pod} and ${others} more`;
      return problem(
        `${who} refused ${forHowLong(nowMs - atMs)} ago: ${detail}`,
        'see the sentence; enactor why POD tells more',
      );
    });
  },
};
