import { Admission } from './admission.js';

const beginMany = (admission: Admission, count: number): number =>
  Array.from({ length: count }, () => admission.begin()).filter(Boolean).length;
const endMany = (admission: Admission, count: number, wasTaken: boolean): void => {
  for (let n = 0; n < count; n += 1) admission.end(wasTaken);
};

describe('Admission', () => {
  it('lets everything through until the gateway refuses, then as many as it did not refuse', () => {
    const admission = new Admission(() => 0);
    expect(beginMany(admission, 100)).toBe(100);
    endMany(admission, 90, false);
    expect(beginMany(admission, 50)).toBe(0);
    admission.end(true);
    expect(beginMany(admission, 50)).toBe(1);
  });

  it('tries one more for each sixteen that were taken', () => {
    const admission = new Admission(() => 0);
    beginMany(admission, 33);
    admission.end(false);
    endMany(admission, 32, true);
    expect(beginMany(admission, 100)).toBe(34);
  });

  it('goes on with one where the gateway took none', () => {
    const admission = new Admission(() => 0);
    beginMany(admission, 3);
    endMany(admission, 3, false);
    expect(beginMany(admission, 3)).toBe(1);
  });

  it('holds nothing back once the gateway has refused nothing for a second', () => {
    let now = 0;
    const admission = new Admission(() => now);
    beginMany(admission, 10);
    endMany(admission, 9, false);
    now = 999;
    expect(beginMany(admission, 10)).toBe(0);
    now = 1_000;
    expect(beginMany(admission, 10)).toBe(10);
  });
});
