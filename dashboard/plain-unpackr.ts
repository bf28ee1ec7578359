/**
 * What the page has in place of msgpackr's reader, which is a tenth of what it may weigh: reads
 * plain data that `plainValueEnd` has checked already, so that every length is true and no type is
 * unknown. A test holds it against msgpackr. Must not be used for bytes that were not checked.
 */

const text = new TextDecoder();
/** Bytes of the length or number after a type byte from 0xc4 on; only types that can occur. */
const WIDTHS: Readonly<Record<number, number>> = {
  196: 1,
  197: 2,
  198: 4,
  217: 1,
  218: 2,
  219: 4,
  220: 2,
  221: 4,
  222: 2,
  223: 4,
};

/** The part of msgpackr's class that the SDK uses. */
export class Unpackr {
  unpack(bytes: Uint8Array): unknown {
    return new PlainReader(bytes).value();
  }
}

class PlainReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  value(): unknown {
    const type = this.#view.getUint8(this.#skip(1));
    if (type < 0x80) return type;
    if (type < 0x90) return this.#object(type & 0x0f);
    if (type < 0xa0) return this.#array(type & 0x0f);
    if (type < 0xc0) return this.#text(type & 0x1f);
    if (type >= 0xe0) return type - 0x100;
    const width = WIDTHS[type];
    if (width === undefined) return this.#scalar(type);
    const length = this.#unsigned(width);
    if (type >= 0xde) return this.#object(length);
    if (type >= 0xdc) return this.#array(length);
    if (type >= 0xd9) return this.#text(length);
    const start = this.#skip(length);
    return this.#bytes.slice(start, start + length);
  }

  #scalar(type: number): unknown {
    const view = this.#view;
    switch (type) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        return view.getFloat32(this.#skip(4));
      case 0xcb:
        return view.getFloat64(this.#skip(8));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#unsigned(1 << (type - 0xcc));
      case 0xcf:
        return Number(view.getBigUint64(this.#skip(8)));
      case 0xd0:
        return view.getInt8(this.#skip(1));
      case 0xd1:
        return view.getInt16(this.#skip(2));
      case 0xd2:
        return view.getInt32(this.#skip(4));
      case 0xd3:
        return Number(view.getBigInt64(this.#skip(8)));
      default:
        throw new TypeError(`type 0x${type.toString(16)} is not plain data`);
    }
  }

  #unsigned(width: number): number {
    const at = this.#skip(width);
    if (width === 1) return this.#view.getUint8(at);
    return width === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  #text(length: number): string {
    const start = this.#skip(length);
    return text.decode(this.#bytes.subarray(start, start + length));
  }

  #array(count: number): unknown[] {
    return Array.from({ length: count }, () => this.value());
  }

  #object(count: number): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    for (let left = count; left > 0; left -= 1) {
      const name = this.value();
      if (typeof name !== "string" && typeof name !== "number") {
        throw new TypeError("the name of a field is neither a text nor a number");
      }
      // As an own field of this name it would become the prototype.
      fields[name === "__proto__" ? "__proto_" : name] = this.value();
    }
    return fields;
  }

  /** Returns the position, and then moves it on by `length` bytes. */
  #skip(length: number): number {
    const at = this.#at;
    this.#at += length;
    return at;
  }
}
