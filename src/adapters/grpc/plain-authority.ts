/** A connection of an HTTP/2 client whose requests name an authority that Node accepts, whatever was sent (header-authority.ts). */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { overwriteAuthority } from './header-authority.ts';

const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;
const HEADERS = 0x1;
/** What our side of the connection allows; a longer one is the next reader's to refuse. Source: RFC 9113 6.5.2, SETTINGS_MAX_FRAME_SIZE */
const FRAME_MAX_BYTES = 16_384;

/** Finds the frames in the bytes of a client as they come, and holds back no more than one header block. */
export class ClientFrames {
  /** Bytes that pass as they are. */
  #passing = PREFACE_BYTES;
  #held: Buffer = Buffer.alloc(0);

  /** The bytes that may go on now. */
  read(chunk: Buffer): Buffer[] {
    const out: Buffer[] = [];
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    while (bytes.length > 0) {
      const passing = Math.min(this.#passing, bytes.length);
      if (passing > 0) {
        out.push(bytes.subarray(0, passing));
        bytes = bytes.subarray(passing);
        this.#passing -= passing;
        continue;
      }
      if (bytes.length < FRAME_HEADER_BYTES) break;
      const size = FRAME_HEADER_BYTES + bytes.readUIntBE(0, 3);
      const isBlock = bytes[3] === HEADERS && size <= FRAME_HEADER_BYTES + FRAME_MAX_BYTES;
      if (isBlock && bytes.length < size) break;
      if (isBlock) overwriteAuthority(bytes.subarray(FRAME_HEADER_BYTES, size), bytes[4] ?? 0);
      this.#passing = size;
    }
    this.#held = bytes;
    return out;
  }
}

export function plainAuthority(socket: Socket): Duplex {
  const frames = new ClientFrames();
  const duplex = new Duplex({
    allowHalfOpen: true,
    read: () => void socket.resume(),
    write: (chunk: Buffer, _, done) => void socket.write(chunk, done),
    writev(chunks, done) {
      const all = chunks.map(({ chunk }) => chunk as Buffer);
      socket.write(Buffer.concat(all), done);
    },
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    // Each is pushed, also when there is no room for more: none may be lost.
    const room = frames.read(chunk).map((part) => duplex.push(part));
    if (room.includes(false)) socket.pause();
  });
  socket.on('end', () => void duplex.push(null));
  socket.on('error', (error) => void duplex.destroy(error));
  socket.on('close', () => void duplex.destroy());
  return duplex;
}
