import { createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';
import type { getReceiptProof, listSigningKeys } from '@market/contracts/payments-ledger';
import type { OutputOf } from '@market/contracts';
import { calculateJwkThumbprint, createLocalJWKSet, errors, exportJWK, jwtVerify } from 'jose';

type PublicKey = OutputOf<typeof listSigningKeys>['keys'][number];
export type ReceiptClaims = OutputOf<typeof getReceiptProof>['claims'];

/** What is signed of the books at a place of the journal. Digests are hex. */
export interface Checkpoint {
  /** The Unix time in seconds. */
  iat: number;
  sequence: number;
  link: string;
  /** The postings up to there. */
  postings: number;
  /** The accounts that are not at zero there, and the digest of their balances. */
  accounts: number;
  balances: string;
  /** The digest of the checkpoint before; null for the first. */
  previous: string | null;
}

/** The explicit type prevents a proof from being taken for another kind of token (RFC 8725 §3.11). */
const TYPE = 'receipt+jwt';
const CHECKPOINT_TYPE = 'checkpoint+jwt';
/** The bytes of a PKCS #8 Ed25519 key (RFC 8410) that precede its 32-byte seed. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/** Signs receipts. Anyone can verify them offline with the published keys. */
export class ReceiptSigner {
  private readonly keySet: ReturnType<typeof createLocalJWKSet>;

  private constructor(
    private readonly current: KeyObject,
    /** The current key is first; earlier keys follow. */
    readonly publicKeys: PublicKey[],
  ) {
    this.keySet = createLocalJWKSet({ keys: publicKeys });
  }

  /** @param keys in the format of `parseSigningKeys`. */
  static async load(keys: string): Promise<ReceiptSigner> {
    const privateKeys = parseSigningKeys(keys);
    return new ReceiptSigner(privateKeys[0]!, await Promise.all(privateKeys.map(publicKeyOf)));
  }

  /**
   * Returns a compact JWS over flat claims in canonical form (RFC 8785), as the x402 extension `offer-receipt` defines
   * it.
   * @param did where clients find the key.
   */
  signForClients(did: string, claims: Record<string, string | number>): string {
    const canonical = Object.fromEntries(Object.entries(claims).sort(([a], [b]) => (a < b ? -1 : 1)));
    return this.compactJws({ alg: 'EdDSA', kid: `${did}#${this.publicKeys[0]!.kid}` }, canonical);
  }

  /** Returns a compact JWS. Ed25519 is deterministic: the same claims and key always give the same text. */
  sign(claims: ReceiptClaims): string {
    return this.signAs(TYPE, claims);
  }

  signCheckpoint(checkpoint: Checkpoint): string {
    return this.signAs(CHECKPOINT_TYPE, { ...checkpoint });
  }

  /** @returns null if none of the keys signed it as a checkpoint. */
  async readCheckpoint(jws: string): Promise<Checkpoint | null> {
    try {
      const { payload } = await jwtVerify<Checkpoint>(jws, this.keySet, {
        typ: CHECKPOINT_TYPE,
        algorithms: ['EdDSA'],
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  }

  private signAs(typ: string, claims: object): string {
    return this.compactJws({ alg: 'EdDSA', typ, kid: this.publicKeys[0]!.kid }, claims);
  }

  /**
   * The compact serialization of RFC 7515. Each 402 without a key has a signature, and by way of WebCrypto, as jose
   * signs, it takes twice the processor time.
   */
  private compactJws(header: object, claims: object): string {
    const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    return `${signed}.${sign(null, Buffer.from(signed), this.current).toString('base64url')}`;
  }
}

/**
 * @param text base64 of 32-byte Ed25519 seeds, comma separated. @throws Error that names the problem but not the key.
 */
export function parseSigningKeys(text: string): KeyObject[] {
  const seeds = text.split(',').map((part) => Buffer.from(part.trim(), 'base64'));
  if (seeds.some((seed) => seed.length !== SEED_BYTES))
    throw new Error('each signing key must be the base64 of 32 bytes');
  if (new Set(seeds.map((seed) => seed.toString('hex'))).size !== seeds.length)
    throw new Error('the signing keys must differ');
  return seeds.map((seed) =>
    createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' }),
  );
}

async function publicKeyOf(privateKey: KeyObject): Promise<PublicKey> {
  const { x } = await exportJWK(createPublicKey(privateKey));
  const key = { kty: 'OKP', crv: 'Ed25519', x: x! } as const;
  return { ...key, kid: await calculateJwkThumbprint(key), use: 'sig', alg: 'EdDSA' };
}
