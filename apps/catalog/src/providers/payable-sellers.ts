import { checkPayable, findUnpayableSellers } from '@market/contracts/payments-ledger';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';

/** Whether sellers can be paid, which the ledger knows. */
@Injectable()
export class PayableSellers {
  constructor(private readonly bus: MessageBus) {}

  /**
   * The chains on which a seller would need a wallet; null if it can be paid. While the ledger is unavailable nobody is
   * turned away, because a call of such a listing is refused before it is paid.
   */
  async missingWallet(sellerId: string, context: RequestContext): Promise<string[] | null> {
    const found = await this.bus.request(checkPayable, { sellerId }, context).catch(() => null);
    return !found || found.isPayable ? null : found.missing;
  }

  /** Returns those that no configured route can pay. @throws Refusal if the ledger is unavailable. */
  async unpayableOf(sellerIds: string[], context: RequestContext): Promise<Set<string>> {
    return new Set((await this.bus.request(findUnpayableSellers, { sellerIds }, context)).sellerIds);
  }
}
