import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts fields at rest with AES-256-GCM and a fresh IV for each value. `aad` (table, column, row id) is
 * authenticated too, so that a value copied to another row cannot be decrypted. The first key encrypts; every key can
 * decrypt what it encrypted. Layout: key id length (1), key id, IV (12), tag (16), ciphertext.
 */
export class FieldCipher {
  private readonly keys: Map<string, Buffer>;
  private readonly current: string | undefined;

  /**
   * @param keys `<id>:<base64 of 32 bytes>`, comma separated, the current key first. Without keys, both methods throw.
   */
  constructor(keys?: string) {
    this.keys = keys === undefined ? new Map() : parseEncryptionKeys(keys);
    this.current = this.keys.keys().next().value;
  }

  /** @throws if there are no keys. */
  encrypt(plaintext: string | Buffer, aad: string): Buffer {
    if (this.current === undefined) throw new Error('this needs ENCRYPTION_KEYS');
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.keys.get(this.current)!, iv);
    cipher.setAAD(Buffer.from(`${aad}|${this.current}`));
    // In this mode nothing is left for the end, so a large text need not be copied once more.
    const ciphertext = typeof plaintext === 'string' ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext);
    cipher.final();
    const keyId = Buffer.from(this.current);
    return Buffer.concat([Buffer.from([keyId.length]), keyId, iv, cipher.getAuthTag(), ciphertext]);
  }

  /** @throws if the value was altered, belongs to another row, or its key is missing. */
  decrypt(sealed: Buffer, aad: string): string {
    return this.decryptBytes(sealed, aad).toString('utf8');
  }

  /** @throws like `decrypt`. */
  decryptBytes(sealed: Buffer, aad: string): Buffer {
    const start = 1 + sealed[0]!;
    const keyId = sealed.subarray(1, start).toString();
    const key = this.keys.get(keyId);
    if (!key) throw new Error(`encryption key ${keyId} is not among ENCRYPTION_KEYS`);
    // Without an explicit length, Node would accept a shorter tag, which is easier to forge.
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(start, start + IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(`${aad}|${keyId}`));
    decipher.setAuthTag(sealed.subarray(start + IV_BYTES, start + IV_BYTES + TAG_BYTES));
    const plaintext = decipher.update(sealed.subarray(start + IV_BYTES + TAG_BYTES));
    decipher.final();
    return plaintext;
  }
}

/** @throws Error that names the problem but not the key. */
export function parseEncryptionKeys(text: string): Map<string, Buffer> {
  const keys = new Map<string, Buffer>();
  for (const part of text.split(',')) {
    const [id, secret, ...rest] = part.trim().split(':');
    const key = Buffer.from(secret ?? '', 'base64');
    if (!id || !/^[A-Za-z0-9_-]{1,32}$/.test(id) || rest.length > 0 || key.length !== 32)
      throw new Error('each encryption key must read <id>:<base64 of 32 bytes>');
    keys.set(id, key);
  }
  return keys;
}
