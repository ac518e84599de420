/** How many ENIs pods that ask for one may have, those that have one included. */
import t from 'tap';
import type { AddressState } from '../../src/core/address-book.ts';
import { eniDevices } from '../../src/core/eni-devices.ts';

const eni = (...states: readonly (AddressState | 'own')[]) => ({
  addresses: states.map((state) => (state === 'own' ? { state: 'bound' as const, ownEni: true as const } : { state })),
});

t.test('ENI devices: an ENI counts unless other pods share it, and so does one that can be opened yet', async (t) => {
  const limits = { enis: 7, managedEnis: 7 };
  t.equal(eniDevices({ limits: null, enis: [] }, false), null, 'not before the node knows itself');
  t.strictSame(eniDevices({ limits, enis: [] }, false), { all: 7, usable: 7 });
  const enis = [
    eni('own'),
    eni('idle', 'bound'),
    eni('idle', 'cooling'),
    eni('idle'),
    eni('reserved'),
    eni('invalid', 'leaving'),
  ];
  t.strictSame(eniDevices({ limits, enis }, false), { all: 7, usable: 4 });
  t.strictSame(
    eniDevices({ limits, enis: [eni('bound'), eni('bound')] }, true),
    { all: 7, usable: 7 },
    'where all are own',
  );
});

t.test('ENI devices: places that somebody else’s ENIs take are none', async (t) => {
  const limits = { enis: 7, managedEnis: 5 };
  t.strictSame(eniDevices({ limits, enis: [eni('bound')] }, false), { all: 7, usable: 4 });
  const full = { limits: { enis: 2, managedEnis: 1 }, enis: [eni('bound'), eni('bound')] };
  t.strictSame(eniDevices(full, false), { all: 2, usable: 0 }, 'never less than none');
});
