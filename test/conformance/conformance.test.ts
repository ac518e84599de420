/** Our plugin keeps all 46 points; Debian's reference plugin does not keep those that it is known to break, so that the kit can tell. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { cannotRunPlugin } from '../plugin/plugin-process.ts';
import { ourSubject } from './our-subject.ts';
import { POINTS, tryPlugin } from './try-plugin.ts';

const REFERENCE = '/usr/lib/cni/ptp';
const skip = cannotRunPlugin();
const noReference =
  skip || (!existsSync(REFERENCE) && `NOT RUN: needs ${REFERENCE} (package containernetworking-plugins)`);

test('conformance: there are 46 points, in their order', (t) => {
  t.strictSame(
    POINTS.map(({ number }) => number),
    Array.from({ length: 46 }, (_, index) => index + 1),
  );
  t.end();
});

test('conformance: our plugin keeps every point', { skip, timeout: 120_000 }, async (t) => {
  await tryPlugin(await ourSubject(t), ({ number, words, outcome, why }) => {
    t.equal(outcome, 'holds', `${number} ${words} ${why}`);
  });
});

test('conformance: of the reference ptp the kit finds what is known of it', {
  skip: noReference,
  timeout: 120_000,
}, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'enactor-ptp-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const ipam = { type: 'host-local', subnet: '10.99.0.0/24', dataDir: directory };
  const conf = { cniVersion: '1.0.0', name: 'podnet', type: 'ptp', ipam };
  const outcomes = new Map<number, string>();
  const asked = POINTS.filter(({ number }) => [2, 4, 5, 16, 17, 19, 22, 28, 39].includes(number));
  await tryPlugin(
    { plugin: REFERENCE, conf, hands: null },
    ({ number, outcome }) => outcomes.set(number, outcome),
    asked,
  );
  t.strictSame(Object.fromEntries(outcomes), {
    2: 'holds',
    4: 'fails', // the reference does not name the variable
    5: 'holds',
    16: 'holds',
    17: 'fails', // no version in an error
    19: 'holds',
    22: 'holds',
    28: 'not asked', // nobody can stop what is behind it
    39: 'not asked', // Debian's does not speak 1.1.0
  });
});
