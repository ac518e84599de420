import t from 'tap';
import { cloudErrorCode } from '../../src/core/cloud-errors.ts';
import { EnactorError, errorTable, failureOf, failureText } from '../../src/core/errors.ts';
import { SOCKET_PATH_MAX_BYTES, socketPathProblem } from '../../src/core/limits.ts';
import { podKey, sandboxKey } from '../../src/core/sandbox.ts';

t.test('errors: whatever was thrown becomes a failure with its words', async (t) => {
  t.same(failureOf(new EnactorError('throttled', 'slow')), { code: 'throttled', detail: 'slow' });
  t.match(failureOf(new DOMException('gone', 'AbortError')), { code: 'cancelled' });
  t.same(failureOf(new TypeError('x is not a function')), { code: 'internal', detail: 'x is not a function' });
  t.same(failureOf('text'), { code: 'internal', detail: 'text' });
  t.match(failureOf(undefined), { code: 'internal' });
});

t.test('errors: the text has the form that people grep for', async (t) => {
  t.equal(failureText({ code: 'noCapacity', detail: 'all 6 in use' }), 'code: IPNotAllocated, msg: all 6 in use');
  const error = new EnactorError('noCapacity', 'all 6 in use', 'cause');
  t.match(error, { name: 'EnactorError', message: /^code: IPNotAllocated, msg: all 6/, cause: 'cause' });
});

t.test('errors: every row has what each of its readers needs', async (t) => {
  for (const [code, row] of Object.entries(errorTable)) {
    t.ok(
      row.cniCode === 4 || row.cniCode === 11,
      `${code}: a CNI code of the plugin, below those of the specification's reserve`,
    );
    t.match(row.status, /^[a-z]+(_[a-z]+)*$/, `${code}: a gRPC status in snake case`);
    t.match(row.sentence, /\.$/, `${code}: a sentence`);
  }
});

t.test('errors: codes of the cloud mean the same with and without their suffix', async (t) => {
  const table: [string, string][] = [
    ['Throttling', 'throttled'],
    ['Throttling.User', 'throttled'],
    ['Rejected.Throttling', 'throttled'],
    ['ThrottlingX', 'cloud'],
    ['InvalidVSwitchId.IpNotEnough', 'vSwitchEmpty'],
    ['QuotaExceeded.PrivateIpAddress', 'vSwitchEmpty'],
    ['Forbidden.RAM', 'permission'],
    ['SomethingNew', 'cloud'],
    ['', 'cloud'],
    ['constructor', 'cloud'],
  ];
  for (const [code, meaning] of table) t.equal(cloudErrorCode(code), meaning, `'${code}'`);
});

t.test('limits: a socket path is measured in bytes', async (t) => {
  t.equal(socketPathProblem('/run/x.sock'), null);
  t.equal(socketPathProblem(`/${'x'.repeat(SOCKET_PATH_MAX_BYTES - 1)}`), null);
  t.match(socketPathProblem(`/${'x'.repeat(SOCKET_PATH_MAX_BYTES)}`), /108 bytes/);
  t.match(socketPathProblem(`/${'ä'.repeat(54)}`), /109 bytes/);
  t.match(socketPathProblem(''), /empty/);
});

t.test('sandbox: an attachment is the pair of container and interface', async (t) => {
  t.equal(sandboxKey({ containerId: 'abc', ifName: 'eth0' }), 'abc/eth0');
  t.not(sandboxKey({ containerId: 'abc', ifName: 'eth1' }), sandboxKey({ containerId: 'abc', ifName: 'eth0' }));
  t.equal(podKey({ namespace: 'a', name: 'b' }), 'a/b');
});
