import { readFileSync } from 'node:fs';
import t from 'tap';
import { cloudActionOf, cloudErrorCode, cloudSentence, isKnownCloudCode } from '../../src/core/cloud-errors.ts';
import { needsAPerson } from '../../src/core/errors.ts';

/** Every code that the documents of ECS, VPC and the gateway name for the calls of a node, or around them. */
const documented = readFileSync(new URL('documented-cloud-codes.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n');

t.test('cloud errors: every documented code has a row', async (t) => {
  t.ok(documented.length > 100);
  t.strictSame(
    documented.filter((code) => !isKnownCloudCode(code)),
    [],
  );
});

t.test('cloud errors: what only a person can change is told in a plain sentence; passing trouble is not', async (t) => {
  for (const code of documented) {
    const action = cloudActionOf(code);
    const told = cloudSentence(code);
    if (action === 'tell' || action === 'renewKey') t.match(told, /^[A-Z].*\.$/, code);
    if (action === 'tell' && cloudErrorCode(code) !== 'internal' && cloudErrorCode(code) !== 'credentials')
      t.ok(needsAPerson(cloudErrorCode(code)), code);
    if (action === 'again' && needsAPerson(cloudErrorCode(code)))
      t.fail(`${code} is asked again though it cannot help`);
  }
  for (const code of ['ServiceUnavailable', 'InternalError', 'Operation.Conflict', 'Something.New', ''])
    t.match([cloudActionOf(code), cloudErrorCode(code), cloudSentence(code)], ['again', 'cloud', null], code);
  for (const code of ['Throttling.NewKind', 'Rejected.Throttling'])
    t.match([cloudActionOf(code), cloudErrorCode(code)], ['slowDown', 'throttled']);
  t.equal(cloudActionOf('InvalidSecurityToken.NewKind'), 'renewKey');
});
