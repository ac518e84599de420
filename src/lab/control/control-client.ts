/** Talks to a running lab's control socket. */
import { request } from 'node:http';
import type { Trace } from '../checks/trace-path.ts';
import type { Verdict } from '../checks/try-paths.ts';
import type { AdminAnswer } from '../cloud/admin.ts';
import type { LabStatus } from '../status/lab-status.ts';
import type { DriedUp, LedgerTail, PlaceInfo, Rebooted } from './control-server.ts';

export type AddedPod = {
  readonly name: string;
  readonly node: string;
  readonly ips: readonly string[];
  readonly startedInMs: number | null;
};

/** The lab refused, with its own sentence. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
}

export class ControlClient {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  status(): Promise<LabStatus> {
    return this.#call('GET', '/v1/status');
  }

  addPod(name: string, node: string | undefined): Promise<AddedPod> {
    return this.#call('POST', '/v1/pods', { name, ...(node === undefined ? {} : { node }) });
  }

  removePod(name: string): Promise<{ readonly name: string; readonly ips: readonly string[] }> {
    return this.#call('DELETE', `/v1/pods/${encodeURIComponent(name)}`);
  }

  probe(from: string, to: string): Promise<Verdict> {
    return this.#call('POST', '/v1/probe', { from, to });
  }

  path(from: string, to: string, family: 4 | 6 | undefined): Promise<Trace> {
    return this.#call('POST', '/v1/path', { from, to, ...(family === undefined ? {} : { family }) });
  }

  reboot(node: string): Promise<Rebooted> {
    return this.#call('POST', '/v1/reboot', { node });
  }

  ledger(): Promise<LedgerTail> {
    return this.#call('GET', '/v1/ledger');
  }

  dry(vSwitchId: string | undefined, dry: boolean): Promise<DriedUp> {
    return this.#call('POST', '/v1/dry', { dry, ...(vSwitchId === undefined ? {} : { vSwitchId }) });
  }

  admin(method: string, path: string, body: unknown): Promise<AdminAnswer> {
    return this.#call('POST', '/v1/admin', { method, path, ...(body === undefined ? {} : { body }) });
  }

  place(name: string): Promise<PlaceInfo> {
    return this.#call('GET', `/v1/place/${encodeURIComponent(name)}`);
  }

  /** The other end is of the same build, so its answer has the type asked for. */
  #call<T>(method: string, path: string, body?: object): Promise<T> {
    return new Promise((resolve, reject) => {
      const ask = request({ socketPath: this.#socketPath, method, path }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('error', reject);
        response.once('end', () => {
          try {
            const answer = JSON.parse(text);
            if (response.statusCode === 200) resolve(answer);
            else reject(new ControlError(String(answer.error)));
          } catch (error) {
            reject(error);
          }
        });
      });
      ask.once('error', reject);
      ask.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
