import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Hex } from 'viem';
import { usage } from '@market/contracts';
import type { Usage } from '@market/kernel';
import { z } from 'zod';
import type { ExactPayee } from '../rails/payment-rail.js';

/** The terms of an offer that is not stored until it is paid. */
export interface KeylessTerms extends ExactPayee {
  /** The listing that is called, or the account whose fees are paid. */
  subjectId: string;
  /** CAIP-2 id. */
  network: string;
  amountBaseUnits: bigint;
  priceMicros: bigint;
  feeBps: number;
  expiresAt: Date;
  /** How long the seller may work on the call after its request is answered. */
  jobSeconds?: number | undefined;
  /** Of a call that costs what it uses; the price is the most. */
  usage?: Usage | undefined;
}

export interface OfferToken {
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
const fields = z.tuple([
  z.string(),
  z.uuid(),
  z.string(),
  z.string(),
  z.enum(['operator', 'seller']),
  amount,
  amount,
  z.number().int(),
  z.number().int(),
  z.number().int().nullable().optional(),
  usage.optional(),
]);

/**
 * Authenticates keyless offers, which are not stored. An offer carries its terms, and its relay request id is their
 * HMAC. The key is derived from the signing keys of receipts, so that every process accepts the offers of every other,
 * and offers under an earlier key stay valid while that key is configured.
 */
export class OfferTokens {
  private readonly keys: Buffer[];

  /** @param signingKeys base64 of 32 bytes each, comma separated. The first key signs. */
  constructor(signingKeys: string) {
    this.keys = signingKeys
      .split(',')
      .map((key) => Buffer.from(hkdfSync('sha256', Buffer.from(key.trim(), 'base64'), '', 'keyless offers', 32)));
  }

  /** Adds a random part, so that two offers with the same terms differ. */
  issue({
    subjectId,
    network,
    payTo,
    payee,
    amountBaseUnits,
    priceMicros,
    feeBps,
    expiresAt,
    jobSeconds,
    usage,
  }: KeylessTerms): OfferToken {
    const values = [
      randomBytes(NONCE_BYTES).toString('base64url'),
      subjectId,
      network,
      payTo,
      payee,
      String(amountBaseUnits),
      String(priceMicros),
      feeBps,
      Math.floor(expiresAt.getTime() / 1_000),
      ...(jobSeconds === undefined && !usage ? [] : [jobSeconds ?? null]),
      ...(usage ? [usage] : []),
    ];
    const offer = Buffer.from(JSON.stringify(values)).toString('base64url');
    return { offer, relayRequestId: `0x${macOf(this.keys[0]!, offer).toString('hex')}` };
  }

  /** Returns undefined if this marketplace did not make the offer. */
  read({ offer, relayRequestId }: { offer?: string; relayRequestId: string }): KeylessTerms | undefined {
    const given = Buffer.from(relayRequestId.slice(2), 'hex');
    if (
      offer === undefined ||
      given.length !== 32 ||
      !this.keys.some((key) => timingSafeEqual(macOf(key, offer), given))
    )
      return undefined;
    const [
      ,
      subjectId,
      network,
      payTo,
      payee,
      amountBaseUnits,
      priceMicros,
      feeBps,
      expiresAtSeconds,
      jobSeconds,
      usage,
    ] = fields.parse(JSON.parse(Buffer.from(offer, 'base64url').toString()));
    return {
      subjectId,
      network,
      payTo,
      payee,
      amountBaseUnits,
      priceMicros,
      feeBps,
      expiresAt: new Date(expiresAtSeconds * 1_000),
      jobSeconds: jobSeconds ?? undefined,
      usage,
    };
  }
}

const macOf = (key: Buffer, offer: string): Buffer => createHmac('sha256', key).update(offer).digest();
