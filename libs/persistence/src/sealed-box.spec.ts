import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { parseEncryptionKeys, SealedBox } from './sealed-box.js';

const key = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;

describe('SealedBox', () => {
  it('opens what it sealed, for any text and any row', () => {
    const box = new SealedBox(key('k1'));
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, row) =>
        expect(box.open(box.seal(text, row), row)).toBe(text),
      ),
    );
  });

  it('does not open a value of which any bit was altered, or any byte cut off', () => {
    const box = new SealedBox(key('k1'));
    const sealed = box.seal('whsec_a secret of a seller', 'endpoints|secret|1');
    for (let byte = 0; byte < sealed.length; byte += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const altered = Buffer.from(sealed);
        altered[byte]! ^= 1 << bit;
        expect(() => box.open(altered, 'endpoints|secret|1')).toThrow();
      }
      expect(() => box.open(sealed.subarray(0, byte), 'endpoints|secret|1')).toThrow();
    }
  });

  it('does not open a value that was moved to another row', () => {
    const box = new SealedBox(key('k1'));
    expect(() => box.open(box.seal('secret', 'endpoints|secret|1'), 'endpoints|secret|2')).toThrow();
  });

  it('seals the same text differently each time, and shows nothing of it', () => {
    const box = new SealedBox(key('k1'));
    const sealed = Array.from({ length: 50 }, () => box.seal('the same secret', 'row').toString('latin1'));
    expect(new Set(sealed).size).toBe(50);
    sealed.forEach((value) => expect(value).not.toContain('secret'));
  });

  it('opens with an old key while it is configured, seals with the first, and not at all once the key is gone', () => {
    const [old, current] = [key('old'), key('new')];
    const sealedBefore = new SealedBox(old).seal('secret', 'row');
    const rotated = new SealedBox(`${current},${old}`);
    expect(rotated.open(sealedBefore, 'row')).toBe('secret');
    expect(new SealedBox(current).open(rotated.seal('secret', 'row'), 'row')).toBe('secret');
    expect(() => new SealedBox(current).open(sealedBefore, 'row')).toThrow(
      'encryption key old is not among ENCRYPTION_KEYS',
    );
  });

  it('does not take another key for the one that sealed, though both have the same id', () => {
    const sealed = new SealedBox(key('k1')).seal('secret', 'row');
    expect(() => new SealedBox(key('k1')).open(sealed, 'row')).toThrow();
  });
});

it('neither seals nor opens without keys', () => {
  const sealed = new SealedBox(key('k1')).seal('secret', 'row');
  expect(() => new SealedBox().seal('secret', 'row')).toThrow('ENCRYPTION_KEYS');
  expect(() => new SealedBox().open(sealed, 'row')).toThrow('ENCRYPTION_KEYS');
});

describe('parseEncryptionKeys', () => {
  it.each([
    '',
    'k1',
    'k1:',
    'k1:c2hvcnQ=',
    `:${randomBytes(32).toString('base64')}`,
    `k 1:${randomBytes(32).toString('base64')}`,
    `${key('k1')},`,
    `${key('k1')}:more`,
  ])('refuses a malformed setting without repeating it: %#', (text) => {
    const complaint = (): unknown => parseEncryptionKeys(text);
    expect(complaint).toThrow('each encryption key must read <id>:<base64 of 32 bytes>');
  });
});
