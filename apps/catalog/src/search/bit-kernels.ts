/** Loops over sets of bits, by address and length in bytes; what each does is said in `bit-kernels.wat`, which this is. */
export interface BitKernels {
  intersect(set: number, other: number, bytes: number): void;
  unite(set: number, other: number, bytes: number): void;
  subtract(set: number, other: number, bytes: number): void;
  meets(set: number, other: number, bytes: number): number;
  count(set: number, bytes: number): number;
  list(part: number, bytes: number, slot: number, into: number): number;
}

export const WASM_BASE64 =
  'AGFzbQEAAAABHARgA39/fwBgA39/fwF/YAJ/fwF/YAR/f39/AX8CEAEEc2V0cwZtZW1vcnkCAAEDBwYAAAABAgMHNwYJaW50ZXJzZWN0AAAFdW5pdGUAAQhzdWJ0cmFjdAACBW1lZXRzAAMFY291bnQABARsaXN0AAUK7QMGSwEBfyAAIAJqIQMDQCAAIAD9AAQAIAH9AAQA/U79CwQAIAAgAP0ABBAgAf0ABBD9Tv0LBBAgAEEgaiEAIAFBIGohASAAIANJDQALC0sBAX8gACACaiEDA0AgACAA/QAEACAB/QAEAP1Q/QsEACAAIAD9AAQQIAH9AAQQ/VD9CwQQIABBIGohACABQSBqIQEgACADSQ0ACwtLAQF/IAAgAmohAwNAIAAgAP0ABAAgAf0ABAD9T/0LBAAgACAA/QAEECAB/QAEEP1P/QsEECAAQSBqIQAgAUEgaiEBIAAgA0kNAAsLSwEBfyAAIAJqIQMDQCAA/QAEACAB/QAEAP1OIAD9AAQQIAH9AAQQ/U79UP1TBEBBAQ8LIABBIGohACABQSBqIQEgACADSQ0AC0EAC1ICAX8BeyAAIAFqIQIDQCADIAD9AAQA/WIgAP0ABBD9Yv1u/X39f/2uASEDIABBIGohACAAIAJJDQALIAP9GwAgA/0bAWogA/0bAiAD/RsDamoLaAICfwF+IAAgAWohBCADIQUDQCAAKQMAIQYgBkIAUgRAA0AgBSACIAZ6p2o2AgAgBUEEaiEFIAYgBkIBfYMhBiAGQgBSDQALCyACQcAAaiECIABBCGohACAAIARJDQALIAUgA2tBAnYL';

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
