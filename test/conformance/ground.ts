/** Where a plugin is tried: a namespace that plays the host, fresh ones that play pods, and calls as a runtime makes them. */
import assert from 'node:assert/strict';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { hostWithEni, type Ran, startPlugin } from '../plugin/plugin-process.ts';
import type { Subject } from './subject.ts';

export type CallOptions = {
  readonly id?: string;
  readonly ifname?: string;
  readonly netns?: string;
  readonly pod?: string;
  /** Keys over the subject's configuration; or the very bytes of stdin. */
  readonly conf?: object;
  readonly stdin?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  /** Variables to leave out. */
  readonly without?: readonly string[];
  readonly redirect?: string;
  /** In the namespace of this one in place of the host's. */
  readonly inside?: TestNamespace;
  readonly killAfterMs?: number;
  readonly signal?: NodeJS.Signals;
};

export type CniFailure = { readonly code: number; readonly text: string };

/** A point that cannot be asked of this plugin, and why. */
export class NotApplicable extends Error {}

export class Ground {
  readonly subject: Subject;
  readonly host: TestNamespace;
  /** Of calls that name none: a point that leaves its attachment behind does not spoil the next. */
  readonly #id: string;
  readonly #owner: { teardown(work: () => unknown): void };

  constructor(subject: Subject, id: string, owner: { teardown(work: () => unknown): void }) {
    this.#id = id;
    this.subject = subject;
    this.#owner = owner as never;
    this.host = hostWithEni(owner as never);
  }

  pod(): TestNamespace {
    return new TestNamespace(this.#owner as never, 'pod');
  }

  call(command: string, options: CallOptions = {}): Promise<Ran> {
    const { id = this.#id, ifname = 'eth0', netns = '', pod = 'web-0', conf = {}, without = [], killAfterMs } = options;
    const env: Record<string, string> = {
      CNI_COMMAND: command,
      CNI_CONTAINERID: id,
      CNI_NETNS: netns,
      CNI_IFNAME: ifname,
      CNI_PATH: this.subject.plugin.replace(/\/[^/]*$/, ''),
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${pod}`,
      ...options.env,
    };
    for (const name of without) delete env[name];
    const stdin = options.stdin ?? JSON.stringify({ ...this.subject.conf, ...conf });
    return startPlugin(options.inside ?? this.host, {
      plugin: this.subject.plugin,
      env,
      stdin,
      ...(options.redirect === undefined ? {} : { redirect: options.redirect }),
      started: (pid) => {
        if (killAfterMs === undefined) return;
        setTimeout(() => {
          try {
            process.kill(pid, options.signal ?? 'SIGKILL');
          } catch {
            // It was faster.
          }
        }, killAfterMs);
      },
    });
  }

  /** The result of an ADD that has to succeed. */
  async add(options: CallOptions): Promise<AddResult> {
    const ran = await this.call('ADD', options);
    assert.equal(ran.exitCode, 0, `ADD: exit code ${ran.exitCode}: ${ran.stdout || ran.stderr}`);
    return ran.json() as AddResult;
  }

  async del(options: CallOptions): Promise<void> {
    const ran = await this.call('DEL', options);
    assert.equal(ran.exitCode, 0, `DEL: exit code ${ran.exitCode}: ${ran.stdout || ran.stderr}`);
  }

  /** Runs `work`, and says that the host and the addresses given out are as before. */
  async leavingNothing(work: () => Promise<void>): Promise<void> {
    const before = this.host.state();
    const leases = this.subject.hands?.leases() ?? null;
    await work();
    assert.equal(withoutKernels(this.host.state()), withoutKernels(before), 'the host is not as before');
    if (leases !== null) assert.deepEqual(this.subject.hands?.leases(), leases, 'an address is still given out');
  }
}

export type AddResult = {
  readonly cniVersion: string;
  readonly interfaces?: readonly { readonly name: string; readonly sandbox?: string; readonly mtu?: number }[];
  readonly ips?: readonly { readonly address: string; readonly interface?: number; readonly version?: string }[];
  readonly routes?: readonly { readonly dst: string; readonly gw?: string }[];
  readonly ip4?: { readonly ip: string };
  readonly dns?: object;
};

/** Asserts: not 0, exactly one JSON object on stdout, a number for a code. */
export function failureOf(ran: Ran): CniFailure {
  assert.notEqual(ran.exitCode, 0, `it succeeds: ${ran.stdout}`);
  const { code, msg, details } = ran.json();
  assert.equal(typeof code, 'number', `no code in ${ran.stdout}`);
  return { code: code as number, text: `${msg} ${details ?? ''}` };
}

export function assertCode(ran: Ran, codes: number | readonly number[], about = /./): void {
  const { code, text } = failureOf(ran);
  const wanted = [codes].flat();
  assert.ok(wanted.includes(code), `code ${code} (${text.trim()}) in place of ${wanted.join(' or ')}`);
  assert.match(text, about);
}

/** What the kernel makes by itself, a moment later. */
const withoutKernels = (state: string): string =>
  state
    .split('\n')
    .filter((line) => !/fe80|ff00|multicast/.test(line))
    .map((line) => line.trimEnd())
    .sort()
    .join('\n');
