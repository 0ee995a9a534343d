import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { getReceiptProof, listSigningKeys } from '@market/contracts/payments-ledger';
import type { OutputOf } from '@market/contracts';
import { calculateJwkThumbprint, CompactSign, exportJWK, SignJWT } from 'jose';

type PublicKey = OutputOf<typeof listSigningKeys>['keys'][number];
export type ReceiptClaims = OutputOf<typeof getReceiptProof>['claims'];

/** The explicit type prevents a proof from being taken for another kind of token (RFC 8725 §3.11). */
const TYPE = 'receipt+jwt';
/** The bytes of a PKCS #8 Ed25519 key (RFC 8410) that precede its 32-byte seed. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/** Signs receipts. Anyone can verify them offline with the published keys. */
export class ReceiptSigner {
  private constructor(
    private readonly current: KeyObject,
    /** The current key is first; earlier keys follow. */
    readonly publicKeys: PublicKey[],
  ) {}

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
  signForClients(did: string, claims: Record<string, string | number>): Promise<string> {
    const canonical = JSON.stringify(Object.fromEntries(Object.entries(claims).sort(([a], [b]) => (a < b ? -1 : 1))));
    return new CompactSign(Buffer.from(canonical))
      .setProtectedHeader({ alg: 'EdDSA', kid: `${did}#${this.publicKeys[0]!.kid}` })
      .sign(this.current);
  }

  /** Returns a compact JWS. Ed25519 is deterministic: the same claims and key always give the same text. */
  sign(claims: ReceiptClaims): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA', typ: TYPE, kid: this.publicKeys[0]!.kid })
      .sign(this.current);
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
