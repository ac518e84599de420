/** Addresses that nobody may have are let go of, whatever becomes of the actor of their ENI meanwhile. */
import t from 'tap';
import type { AnyActorRef } from 'xstate';
import { isHeldBack, isHeldBackFor } from '../../src/core/held-back.ts';
import type { EniContext } from '../../statecharts/eni-context.ts';
import { eventually, type OneNode, oneNode } from './one-node.ts';

/** A node whose store was lost: all that its one ENI has is held back. */
async function withLostStore() {
  const enis = new Map<string, AnyActorRef>();
  const on = await oneNode({
    settings: { attachTimeoutMs: 20_000, settleTimeoutMs: 20_000, minIdle: 2, maxIdle: 2 },
    inspect: ({ type, actorRef }) => {
      const ref = actorRef as AnyActorRef;
      if (type === '@xstate.actor' && ref.id?.startsWith('eni:')) enis.set(ref.id, ref);
    },
  });
  await on.serving();
  await eventually('an address is idle', () => idleOn(on) > 1);
  on.disk.clear();
  enis.clear();
  await on.restart();
  const eni = (): AnyActorRef => {
    const [only] = enis.values();
    if (only === undefined) throw new Error('there is no ENI');
    return only;
  };
  await eventually('it is in use', () => 'inUse' in Object(eni().getSnapshot().value));
  const book = () => (eni().getSnapshot().context as EniContext).book;
  const heldBack = () => on.report().leases.filter(({ sandbox }) => isHeldBack(sandbox));
  const release = (sandbox: ReturnType<typeof heldBack>[number]['sandbox']) =>
    on.node.allocator.release({ ...sandbox, reason: 'test' }, new AbortController().signal);
  return { on, eni, book, heldBack, release };
}

const idleOn = (on: OneNode): number =>
  on.report().enis.flatMap(({ addresses }) => addresses.filter(({ state }) => state === 'idle')).length;

/** The next event that it hears kills it. */
function breakActor(ref: AnyActorRef): void {
  const broken = ref as unknown as { logic: object }; // not in XState's type of a reference
  broken.logic = Object.assign(Object.create(broken.logic), {
    transition: () => {
      throw new Error('a defect, planted by this test');
    },
  });
}

t.test('held back: what was let go as the actor of its ENI died is free, and the rest stays', async (t) => {
  const { on, eni, book, heldBack, release } = await withLostStore();
  t.teardown(on.stop);
  const [first, ...others] = heldBack();
  if (first === undefined || others.length === 0) throw new Error('too little is held back');
  const dying = eni();
  breakActor(dying);
  await release(first.sandbox);
  t.equal(dying.getSnapshot().status, 'error', 'it died of hearing that');
  await eventually('another one has taken over', () => eni() !== dying && 'inUse' in Object(eni().getSnapshot().value));
  const { ipv4 } = first.grant.address;
  await eventually('it rests, or is idle', () => {
    const state = book().find(({ address }) => address.ipv4 === ipv4)?.state;
    return state === 'cooling' || state === 'idle' || state === undefined;
  });
  const left = book().filter(({ sandbox }) => isHeldBackFor(sandbox));
  t.equal(left.length, others.length, 'what nobody has let go of is held back yet');
  t.equal(heldBack().length, others.length);
});
