/**
 * The access keys that the cloud of the lab accepts: those it was started with, and temporary ones of RAM roles that the
 * metadata service and STS give out.
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

/** A temporary one, with the instants that its holder is told. */
export type SessionKey = AccessKey & { readonly issuedMs: number; readonly endMs: number };

const RENEWED_BEFORE_END_MS = 30 * 60_000;
/** Source: AssumeRole, DurationSeconds at least 900. */
const SHORTEST_LIFE_MS = 900_000;
/** So long their holder is told that they are expired, and not that they are unknown. */
const KEPT_AFTER_END_MS = 3_600_000;

export class KeyRing {
  readonly #keys = new Map<string, AccessKey>();
  readonly #ofRoles = new Map<string, SessionKey>();
  readonly #roleLifeMs: number;

  constructor(keys: readonly AccessKey[], roleLifeMs = 6 * 3_600_000) {
    for (const key of keys) this.#keys.set(key.accessKeyId, key);
    this.#roleLifeMs = roleLifeMs;
  }

  find(accessKeyId: string): AccessKey | null {
    return this.#keys.get(accessKeyId) ?? null;
  }

  /** The current credentials of a role on an instance, renewed when half an hour (or half of a shorter life) is left. */
  ofRole(instanceId: string, role: string, nowMs: number): SessionKey {
    const holder = `${instanceId} ${role}`;
    const current = this.#ofRoles.get(holder);
    const renewBeforeMs = Math.min(RENEWED_BEFORE_END_MS, this.#roleLifeMs / 2);
    if (current !== undefined && nowMs < current.endMs - renewBeforeMs) return current;
    const fresh = this.ofSession(nowMs, this.#roleLifeMs);
    this.#ofRoles.set(holder, fresh);
    return fresh;
  }

  /** New ones of a session that has just begun. */
  ofSession(nowMs: number, lifeMs: number): SessionKey {
    // Whole seconds, as in life, unless the whole life is shorter than the cloud has it.
    const endMs = lifeMs < SHORTEST_LIFE_MS ? nowMs + lifeMs : Math.floor((nowMs + lifeMs) / 1_000) * 1_000;
    const fresh = {
      accessKeyId: `STS.${randomBytes(12).toString('hex')}`,
      accessKeySecret: randomBytes(24).toString('hex'),
      securityToken: randomBytes(48).toString('base64url'),
      expiresMs: endMs,
      issuedMs: nowMs,
      endMs,
    };
    for (const [id, { expiresMs }] of this.#keys)
      if (expiresMs !== null && expiresMs < nowMs - KEPT_AFTER_END_MS) this.#keys.delete(id);
    this.#keys.set(fresh.accessKeyId, fresh);
    return fresh;
  }

  /** All temporary credentials end now; whoever asks gets others. Says how many there were. */
  endTemporary(nowMs: number): number {
    const temporary = [...this.#keys.values()].filter(({ expiresMs }) => expiresMs !== null && expiresMs > nowMs);
    for (const key of temporary) this.#keys.set(key.accessKeyId, { ...key, expiresMs: nowMs });
    this.#ofRoles.clear();
    return temporary.length;
  }
}
