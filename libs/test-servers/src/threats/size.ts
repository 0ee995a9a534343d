const SIZES = ['ci', 'night', 'full'] as const;
export type Size = (typeof SIZES)[number];
/** How much a test does of what it counts, by the size of the run. */
export type Counts = Record<Size, number>;

/** `TEST_SIZE=ci|night|full`, by which every adversarial test has its count. */
export const TEST_SIZE = sizeOf(process.env.TEST_SIZE ?? 'ci');

/** `TEST_SEED=<number>` repeats a run. */
export const TEST_SEED = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31);

export function sizeOf(text: string): Size {
  const found = SIZES.find((size) => size === text);
  if (!found) throw new Error(`a size of tests is ${SIZES.join(', ')}, and not ${text}`);
  return found;
}
