import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { parseEncryptionKeys, FieldCipher } from './field-cipher.js';

const key = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;

describe('SealedBox', () => {
  it('decrypts what it encrypted, for any text and any row', () => {
    const cipher = new FieldCipher(key('k1'));
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, row) =>
        expect(cipher.decrypt(cipher.encrypt(text, row), row)).toBe(text),
      ),
    );
  });

  it('does not open a value of which any bit was altered, or any byte cut off', () => {
    const cipher = new FieldCipher(key('k1'));
    const sealed = cipher.encrypt('whsec_a secret of a seller', 'endpoints|secret|1');
    for (let byte = 0; byte < sealed.length; byte += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const altered = Buffer.from(sealed);
        altered[byte]! ^= 1 << bit;
        expect(() => cipher.decrypt(altered, 'endpoints|secret|1')).toThrow();
      }
      expect(() => cipher.decrypt(sealed.subarray(0, byte), 'endpoints|secret|1')).toThrow();
    }
  });

  it('does not open a value that was moved to another row', () => {
    const cipher = new FieldCipher(key('k1'));
    expect(() => cipher.decrypt(cipher.encrypt('secret', 'endpoints|secret|1'), 'endpoints|secret|2')).toThrow();
  });

  it('encrypts the same text differently each time, and shows nothing of it', () => {
    const cipher = new FieldCipher(key('k1'));
    const sealed = Array.from({ length: 50 }, () => cipher.encrypt('the same secret', 'row').toString('latin1'));
    expect(new Set(sealed).size).toBe(50);
    sealed.forEach((value) => expect(value).not.toContain('secret'));
  });

  it('decrypts with an old key while it is configured, encrypts with the first, and not at all once the key is gone', () => {
    const [old, current] = [key('old'), key('new')];
    const sealedBefore = new FieldCipher(old).encrypt('secret', 'row');
    const rotated = new FieldCipher(`${current},${old}`);
    expect(rotated.decrypt(sealedBefore, 'row')).toBe('secret');
    expect(new FieldCipher(current).decrypt(rotated.encrypt('secret', 'row'), 'row')).toBe('secret');
    expect(() => new FieldCipher(current).decrypt(sealedBefore, 'row')).toThrow(
      'encryption key old is not among ENCRYPTION_KEYS',
    );
  });

  it('does not take another key for the one that encrypted, though both have the same id', () => {
    const sealed = new FieldCipher(key('k1')).encrypt('secret', 'row');
    expect(() => new FieldCipher(key('k1')).decrypt(sealed, 'row')).toThrow();
  });
});

it('neither encrypts nor decrypts without keys', () => {
  const sealed = new FieldCipher(key('k1')).encrypt('secret', 'row');
  expect(() => new FieldCipher().encrypt('secret', 'row')).toThrow('ENCRYPTION_KEYS');
  expect(() => new FieldCipher().decrypt(sealed, 'row')).toThrow('ENCRYPTION_KEYS');
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
