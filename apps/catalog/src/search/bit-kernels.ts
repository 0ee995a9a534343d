/** Loops over sets of bits, by address and length in bytes; what each does is said in `bit-kernels.wat`, which this is. */
export interface BitKernels {
  intersect(set: number, other: number, bytes: number): void;
  unite(set: number, other: number, bytes: number): void;
  subtract(set: number, other: number, bytes: number): void;
  meets(set: number, other: number, bytes: number): number;
  count(set: number, bytes: number): number;
  list(part: number, bytes: number, slot: number, into: number): number;
  rank(set: number, slots: number, count: number): void;
}

export const WASM_BASE64 =
  'AGFzbQEAAAABHARgA39/fwBgA39/fwF/YAJ/fwF/YAR/f39/AX8CEAEEc2V0cwZtZW1vcnkCAAEDCAcAAAABAgMABz4HCWludGVyc2VjdAAABXVuaXRlAAEIc3VidHJhY3QAAgVtZWV0cwADBWNvdW50AAQEbGlzdAAFBHJhbmsABgrkBAdLAQF/IAAgAmohAwNAIAAgAP0ABAAgAf0ABAD9Tv0LBAAgACAA/QAEECAB/QAEEP1O/QsEECAAQSBqIQAgAUEgaiEBIAAgA0kNAAsLSwEBfyAAIAJqIQMDQCAAIAD9AAQAIAH9AAQA/VD9CwQAIAAgAP0ABBAgAf0ABBD9UP0LBBAgAEEgaiEAIAFBIGohASAAIANJDQALC0sBAX8gACACaiEDA0AgACAA/QAEACAB/QAEAP1P/QsEACAAIAD9AAQQIAH9AAQQ/U/9CwQQIABBIGohACABQSBqIQEgACADSQ0ACwtLAQF/IAAgAmohAwNAIAD9AAQAIAH9AAQA/U4gAP0ABBAgAf0ABBD9Tv1Q/VMEQEEBDwsgAEEgaiEAIAFBIGohASAAIANJDQALQQALUgIBfwF7IAAgAWohAgNAIAMgAP0ABAD9YiAA/QAEEP1i/W79ff1//a4BIQMgAEEgaiEAIAAgAkkNAAsgA/0bACAD/RsBaiAD/RsCIAP9GwNqagtoAgJ/AX4gACABaiEEIAMhBQNAIAApAwAhBiAGQgBSBEADQCAFIAIgBnqnajYCACAFQQRqIQUgBiAGQgF9gyEGIAZCAFINAAsLIAJBwABqIQIgAEEIaiEAIAAgBEkNAAsgBSADa0ECdgt2AQR/IAEgAkECdGohAyAAIQQCQANAIAEgA08NASAAIAEoAgBBBnZBA3RqIQUCQANAIAQgBU8NASAGIAQpAwB7p2ohBiAEQQhqIQQMAAsLIAEgBiAEKQMAQgEgASgCAK2GQgF9g3unajYCACABQQRqIQEMAAsLCw==';

export const PAGE_BYTES = 65_536;

/** TypeScript knows WebAssembly as a part of browsers alone. */
interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}
declare const WebAssembly: {
  Memory: new (size: { initial: number }) => Memory;
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: { sets: { memory: Memory } }) => { exports: unknown };
};

const compiled = new WebAssembly.Module(Buffer.from(WASM_BASE64, 'base64'));

export const newMemory = (): Memory => new WebAssembly.Memory({ initial: 1 });

export const bitKernels = (memory: Memory): BitKernels => new WebAssembly.Instance(compiled, { sets: { memory } }).exports as BitKernels;
