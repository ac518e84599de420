/**
 * The access keys that the cloud of the lab accepts: those it was started with, and temporary ones of RAM roles that the
 * metadata service gives out.
 *
 * Source: ECS "Instance RAM roles": credentials live six hours, new ones are there half an hour before the old ones end.
 */
import { randomBytes } from 'node:crypto';

export type AccessKey = {
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
  /** null: a long-lived key, which needs none. */
  readonly securityToken: string | null;
  readonly expiresMs: number | null;
};

/** What the lab uses when nobody chooses a key. It opens nothing but the lab. */
export const LAB_ACCESS_KEY: AccessKey = {
  accessKeyId: 'LTAIlabaccesskeyid',
  accessKeySecret: 'lab-access-key-secret',
  securityToken: null,
  expiresMs: null,
};

const RENEWED_BEFORE_END_MS = 30 * 60_000;

export class KeyRing {
  readonly #keys = new Map<string, AccessKey>();
  readonly #ofRoles = new Map<string, AccessKey & { readonly issuedMs: number; readonly endMs: number }>();
  readonly #roleLifeMs: number;

  constructor(keys: readonly AccessKey[], roleLifeMs = 6 * 3_600_000) {
    for (const key of keys) this.#keys.set(key.accessKeyId, key);
    this.#roleLifeMs = roleLifeMs;
  }

  find(accessKeyId: string): AccessKey | null {
    return this.#keys.get(accessKeyId) ?? null;
  }

  /** The current credentials of a role on an instance, renewed when half an hour (or half of a shorter life) is left. */
  ofRole(instanceId: string, role: string, nowMs: number): AccessKey & { issuedMs: number; endMs: number } {
    const holder = `${instanceId} ${role}`;
    const current = this.#ofRoles.get(holder);
    const renewBeforeMs = Math.min(RENEWED_BEFORE_END_MS, this.#roleLifeMs / 2);
    if (current !== undefined && nowMs < current.endMs - renewBeforeMs) return current;
    const endMs = nowMs + this.#roleLifeMs;
    const fresh = {
      accessKeyId: `STS.${randomBytes(12).toString('hex')}`,
      accessKeySecret: randomBytes(24).toString('hex'),
      securityToken: randomBytes(48).toString('base64url'),
      expiresMs: endMs,
      issuedMs: nowMs,
      endMs,
    };
    this.#keys.set(fresh.accessKeyId, fresh);
    this.#ofRoles.set(holder, fresh);
    return fresh;
  }
}
