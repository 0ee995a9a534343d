import { signerDid } from '@market/contracts/payments-ledger';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Inject, Injectable } from '@nestjs/common';
import { ReceiptSigner } from '../books/receipt-signer.js';
import type { ExactRequirements } from '../rails/x402/exact-payment.js';
import type { PaymentRow } from './payment.js';

interface Transfer {
  transaction: string;
  network: string;
  payer: string;
}

/**
 * Signs the offers and receipts that x402 clients keep as evidence, by the extension offer-and-receipt
 * (specs/extensions/extension-offer-and-receipt.md of github.com/coinbase/x402).
 */
@Injectable()
export class OfferReceiptSigner {
  private readonly base: string;
  private readonly did: string;

  constructor(
    private readonly signer: ReceiptSigner,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.base = publicUrl;
    this.did = signerDid(publicUrl);
  }

  /** The offer of a keyless call. */
  offer(slug: string, { scheme, network, asset, payTo, amount }: ExactRequirements, expiresAt: Date): string {
    return this.signer.signForClients(this.did, {
      version: 1,
      resourceUrl: this.urlOf(`x402/${slug}`),
      scheme,
      network,
      asset,
      payTo,
      amount,
      validUntil: Math.floor(expiresAt.getTime() / 1_000),
    });
  }

  /** The receipt of a completed payment by authorization. The same payment always gives the same text. */
  receipt(
    { purpose, keyless_offer, listing_slug }: PaymentRow,
    { transaction, network, payer }: Transfer,
    completedAt: Date,
  ): string {
    return this.signer.signForClients(this.did, {
      version: 1,
      network,
      resourceUrl: this.urlOf(
        purpose === 'fee'
          ? 'fees/payments'
          : purpose === 'subscription'
            ? 'subscribe'
            : `${keyless_offer === null ? 'gateway' : 'x402'}/${listing_slug}`,
      ),
      payer,
      issuedAt: Math.floor(completedAt.getTime() / 1_000),
      transaction,
    });
  }

  private urlOf(path: string): string {
    return `${this.base}/api/v1/${path}`;
  }
}
