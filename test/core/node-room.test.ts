import t from 'tap';
import { freeOf, nextRoom, type RoomCount, roomAtFirst } from '../../src/core/node-room.ts';

const count = (more: Partial<RoomCount> = {}): RoomCount => ({
  ...{ capacity: 10, held: 4, unused: 2, wanting: 4, dry: null },
  ...more,
});

t.test('node room: what is free is what nobody has, and nobody who is on the way wants', async (t) => {
  t.equal(freeOf(count()), 6);
  t.equal(freeOf(count({ wanting: 9 })), 1, 'pods that were scheduled here and have not asked yet count');
  t.equal(freeOf(count({ wanting: null })), 6);
  t.equal(freeOf(count({ wanting: 20 })), 0);
  t.equal(freeOf(count({ dry: 'vSwitch empty' })), 2, 'where the cloud gives no more, what is here is all');
  t.equal(freeOf(count({ dry: 'vSwitch empty', unused: 0 })), 0);
  t.equal(freeOf(count({ capacity: 0, held: 0, unused: 0, wanting: 0 })), 0, 'a type that can serve none');
});

t.test('node room: full at once, room again after a while or when there is plenty', async (t) => {
  const full = nextRoom(roomAtFirst, count({ held: 10 }), 100, 0);
  t.match(full, { full: true, free: 0, why: '10 pods for 10 addresses' });
  const one = nextRoom(full, count({ held: 9, wanting: 9 }), 100, 10);
  t.match(one, { full: true, free: 1, freeSinceMs: 10 });
  t.equal(nextRoom(one, count({ held: 9 }), 100, 109).full, true);
  t.equal(nextRoom(one, count({ held: 9 }), 100, 110).full, false);
  const again = nextRoom(one, count({ held: 10 }), 100, 50);
  t.equal(nextRoom(again, count({ held: 9 }), 100, 140).full, true, 'the while begins anew');
  t.equal(nextRoom(full, count({ held: 8 }), 100, 10).full, false, 'two are plenty');
  const small = nextRoom(roomAtFirst, count({ capacity: 1, held: 1, wanting: 1, unused: 0 }), 100, 0);
  t.equal(nextRoom(small, count({ capacity: 1, held: 0, wanting: 0 }), 100, 1).full, false, 'one of one is plenty');
  t.equal(
    nextRoom(roomAtFirst, count({ held: 10, dry: 'InvalidVSwitchId.IpNotEnough' }), 1, 0).why,
    'InvalidVSwitchId.IpNotEnough',
  );
});
