/** The part of Bun's FFI that libc-bun.ts uses; Bun's own types would clash with Node's. Source: bun.sh/docs/api/ffi. */
declare module 'bun:ffi' {
  type FfiType = 'i32' | 'u32' | 'u64' | 'i64' | 'ptr';
  type Signature = { readonly args: readonly FfiType[]; readonly returns: FfiType };
  export function dlopen<Names extends string>(
    library: string,
    symbols: Record<Names, Signature>,
  ): { readonly symbols: Record<Names, (...args: (number | bigint | Uint8Array)[]) => number | bigint> };
  export const read: { i32(pointer: number, offset: number): number };
}
