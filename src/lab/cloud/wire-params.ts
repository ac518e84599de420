/**
 * Reads the flattened parameters of a call: `Name`, `Name.1`, `Name.1.Key`. Refuses what an API does not take by its name.
 *
 * An empty value counts as not given.
 */
import { type CloudErrorCode, cloudError } from '../../vpc/errors.ts';
import type { PageRequest } from '../../vpc/paging.ts';
import type { Want } from '../../vpc/requests.ts';

export class WireParams {
  readonly all: Readonly<Record<string, string>>;

  constructor(params: Readonly<Record<string, string>>) {
    this.all = params;
  }

  text(name: string): string | null {
    const value = this.all[name];
    return value === undefined || value === '' ? null : value;
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === null) throw cloudError('MissingParameter', name);
    return value;
  }

  integer(name: string, min: number, max: number): number | null {
    const value = this.text(name);
    if (value === null) return null;
    const number = Number(value);
    if (!/^-?\d+$/.test(value) || number < min || number > max) throw cloudError('InvalidParameter', name);
    return number;
  }

  flag(name: string): boolean | null {
    const value = this.text(name)?.toLowerCase();
    if (value === undefined) return null;
    if (value !== 'true' && value !== 'false') throw cloudError('InvalidParameter', name);
    return value === 'true';
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | null {
    const value = this.text(name);
    if (value === null) return null;
    const found = values.find((one) => one === value);
    if (found === undefined) throw cloudError('InvalidParameter', name);
    return found;
  }

  /** `Name.1`, `Name.2`, ... in the order of their numbers. */
  list(name: string, max: number): readonly string[] {
    const found = this.#numbered(new RegExp(`^${name}\\.(\\d+)$`));
    if (found.length > max) throw cloudError('InvalidParameter', name);
    return found.map(({ value }) => value);
  }

  /** A list that travels as the text of a JSON array. */
  jsonList(name: string, max: number, code: CloudErrorCode): readonly string[] {
    const text = this.text(name);
    if (text === null) return [];
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw cloudError(code, name);
    }
    if (!Array.isArray(value) || value.length > max || !value.every((one) => typeof one === 'string')) {
      throw cloudError(code, name);
    }
    return value;
  }

  /** `Tag.1.Key` and `Tag.1.Value`; value null when not given. */
  tagList(): readonly { readonly key: string; readonly value: string | null }[] {
    return this.#numbered(/^Tag\.(\d+)\.Key$/).map(({ index, value: key }) => ({
      key,
      value: this.all[`Tag.${index}.Value`] ?? null,
    }));
  }

  tags(): Readonly<Record<string, string>> {
    const tags: Record<string, string> = {};
    for (const { key, value } of this.tagList()) {
      if (Object.hasOwn(tags, key)) throw cloudError('Duplicate.TagKey', key);
      tags[key] = value ?? '';
    }
    return tags;
  }

  /** Addresses named one by one, or a number of them; null when neither is given, refused when both are. */
  want(list: string, count: string, max: number, countMax: number): Want | null {
    const ips = this.list(list, max);
    const number = this.integer(count, 1, countMax);
    if (ips.length > 0 && number !== null) throw cloudError('InvalidParameter.Conflict', `${list} and ${count}`);
    if (ips.length > 0) return { ips };
    return number === null ? null : { count: number };
  }

  /** Page numbers when they are given, else tokens. */
  page(byDefault: 'token' | 'number', pageSizeMax: number): PageRequest {
    const pageNumber = this.integer('PageNumber', 1, Number.MAX_SAFE_INTEGER);
    const pageSize = this.integer('PageSize', 1, pageSizeMax);
    const nextToken = this.text('NextToken');
    const maxResults = this.integer('MaxResults', 1, Number.MAX_SAFE_INTEGER);
    const byToken = nextToken !== null || maxResults !== null;
    if (!byToken && (pageNumber !== null || pageSize !== null || byDefault === 'number')) {
      return { kind: 'number', pageNumber: pageNumber ?? 1, pageSize: pageSize ?? 10 };
    }
    return { kind: 'token', nextToken, maxResults };
  }

  /** Refuses parameters of features that the lab's cloud does not have. */
  refuse(names: readonly string[], code: CloudErrorCode): void {
    const given = Object.keys(this.all).find((key) => names.some((name) => key === name || key.startsWith(`${name}.`)));
    if (given !== undefined) throw cloudError(code, given);
  }

  #numbered(pattern: RegExp): readonly { readonly index: number; readonly value: string }[] {
    const found: { index: number; value: string }[] = [];
    for (const [key, value] of Object.entries(this.all)) {
      const index = pattern.exec(key)?.[1];
      if (index !== undefined && value !== '') found.push({ index: Number(index), value });
    }
    return found.sort((a, b) => a.index - b.index);
  }
}
