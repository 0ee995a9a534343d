import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Hex } from 'viem';
import { z } from 'zod';

/** What an offer to whoever asks says, beside its recipient, which is the rail's. */
export interface KeylessTerms {
  listingId: string;
  /** CAIP-2. */
  network: string;
  amountBaseUnits: bigint;
  priceMicros: bigint;
  feeBps: number;
  expiresAt: Date;
}

export interface SealedTerms {
  /** Base64url of the terms as JSON. */
  offer: string;
  /** HMAC-SHA256 of `offer`. */
  relayRequestId: Hex;
}

const NONCE_BYTES = 12;

const amount = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform(BigInt);
const fields = z.tuple([z.string(), z.uuid(), z.string(), amount, amount, z.number().int(), z.number().int()]);

/**
 * Offers that nobody stores: whoever asks may ask as often as it likes. What they say travels in them, and the id they are
 * paid under is its seal, which only a ledger can make. The key comes from those that sign receipts, so that every
 * process knows offers of every other, and offers under an earlier key stay good while that key is listed.
 */
export class KeylessTermsSeal {
  private readonly keys: Buffer[];

  /** @param signingKeys base64 of 32 bytes each, comma separated; the first seals. */
  constructor(signingKeys: string) {
    this.keys = signingKeys
      .split(',')
      .map((key) => Buffer.from(hkdfSync('sha256', Buffer.from(key.trim(), 'base64'), '', 'keyless offers', 32)));
  }

  /** Two offers of the same terms are two offers. */
  seal({ listingId, network, amountBaseUnits, priceMicros, feeBps, expiresAt }: KeylessTerms): SealedTerms {
    const values = [
      randomBytes(NONCE_BYTES).toString('base64url'),
      listingId,
      network,
      String(amountBaseUnits),
      String(priceMicros),
      feeBps,
      Math.floor(expiresAt.getTime() / 1_000),
    ];
    const offer = Buffer.from(JSON.stringify(values)).toString('base64url');
    return { offer, relayRequestId: `0x${macOf(this.keys[0]!, offer).toString('hex')}` };
  }

  /** Undefined where the offer is none of ours. */
  read({ offer, relayRequestId }: { offer?: string; relayRequestId: string }): KeylessTerms | undefined {
    const given = Buffer.from(relayRequestId.slice(2), 'hex');
    if (
      offer === undefined ||
      given.length !== 32 ||
      !this.keys.some((key) => timingSafeEqual(macOf(key, offer), given))
    )
      return undefined;
    const [, listingId, network, amountBaseUnits, priceMicros, feeBps, expiresAtSeconds] = fields.parse(
      JSON.parse(Buffer.from(offer, 'base64url').toString()),
    );
    return { listingId, network, amountBaseUnits, priceMicros, feeBps, expiresAt: new Date(expiresAtSeconds * 1_000) };
  }
}

const macOf = (key: Buffer, offer: string): Buffer => createHmac('sha256', key).update(offer).digest();
