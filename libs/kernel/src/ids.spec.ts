import { isUuid, newId } from './ids.js';

describe('newId', () => {
  it('is a UUIDv7 that carries its time', () => {
    const id = newId(0x0123456789ab);
    expect(id).toMatch(/^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(isUuid(id)).toBe(true);
    expect(newId(1)).toMatch(/^00000000-0001-7/);
  });

  it('sorts by creation time and is never the same twice', () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => newId(1_763_600_000_000 + Math.floor(index / 100)));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.map((id) => id.slice(0, 13))).toEqual(ids.map((id) => id.slice(0, 13)).sort());
  });
});
