import type { InputOf, OutputOf } from '@market/contracts';
import { checkPayable, findUnpayableSellers } from '@market/contracts/payments-ledger';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { PAYMENT_RAILS, type PaymentRail } from './payment-rail.js';
import { SellerWallets } from './seller-wallets.js';

/** Which sellers a configured rail can pay. It executes no statement. */
@Injectable()
export class CheckPayable {
  constructor(
    private readonly wallets: SellerWallets,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
  ) {}

  /** No statement. A bus request for each type of chain. */
  @HandleRequest(checkPayable)
  async execute(
    { sellerId }: InputOf<typeof checkPayable>,
    context: RequestContext,
  ): Promise<OutputOf<typeof checkPayable>> {
    const hasWallet = (await this.withoutWallet([sellerId], context)).length === 0;
    const networks = this.rails.flatMap(({ payout }) => payout?.networks ?? []);
    return { isPayable: hasWallet || !this.needWallet, missing: hasWallet ? [] : [...new Set(networks)] };
  }

  /** No statement. Some bus requests for each type of chain. */
  @HandleRequest(findUnpayableSellers)
  async unpayableOf(
    { sellerIds }: InputOf<typeof findUnpayableSellers>,
    context: RequestContext,
  ): Promise<OutputOf<typeof findUnpayableSellers>> {
    return { sellerIds: this.needWallet ? await this.withoutWallet(sellerIds, context) : [] };
  }

  private get needWallet(): boolean {
    return this.rails.every(({ payout }) => payout?.isRequired);
  }

  private async withoutWallet(sellerIds: string[], context: RequestContext): Promise<string[]> {
    const chainTypes = [...new Set(this.rails.flatMap(({ payout }) => payout?.chainType ?? []))];
    // A wallet that was linked a moment ago counts at once.
    const found = await Promise.all(chainTypes.map((type) => this.wallets.find(sellerIds, type, context, true)));
    return sellerIds.filter((_, index) => found.every((wallets) => wallets[index] === null));
  }
}
