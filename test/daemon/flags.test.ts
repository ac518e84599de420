import t from 'tap';
import { parseFlags } from '../../src/daemon/flags.ts';

const base = ['--node-name', 'node-1'];

t.test('flags: the defaults are the places of the design', async (t) => {
  t.match(parseFlags(base), {
    config: '/etc/eni/eni_conf',
    nodeName: 'node-1',
    dataDir: '/var/lib/cni/enactor',
    grpcSocket: '/var/run/eni/eni.socket',
    jsonSocket: '/var/run/eni/enactor.socket',
    debugSocket: '/var/run/eni/eni_debug.socket',
    lockFile: '/var/run/eni/terwayd.lock',
    kubeconfig: null,
    metadataUrl: 'http://100.100.100.200',
    ecsEndpoint: null,
    vpcEndpoint: null,
    cloudScheme: 'https',
    cniConfDir: '/etc/cni/net.d',
    logLevel: 'info',
  });
  t.equal(parseFlags([...base, '--cni-conf-dir', '']).cniConfDir, null);
});

t.test('flags: a relative path becomes the absolute one that everybody else needs', async (t) => {
  t.equal(parseFlags([...base, '--json-socket', 'e.sock']).jsonSocket, `${process.cwd()}/e.sock`);
});

t.test('flags: what cannot be is refused by the flag’s name', async (t) => {
  t.throws(() => parseFlags([...base, '--data-dir', '']), { message: /--data-dir: is empty/ });
  t.throws(() => parseFlags([...base, '--metadata-url', 'nowhere']), { message: /--metadata-url/ });
  t.throws(() => parseFlags([...base, '--json-socket', '/var/run/eni/eni.socket']), { message: /three paths/ });
  const long = `/${'é'.repeat(54)}`;
  t.throws(() => parseFlags([...base, '--grpc-socket', long]), {
    message: new RegExp(`--grpc-socket: socket path ${long} is 109 bytes long; the limit is 107`),
  });
});
