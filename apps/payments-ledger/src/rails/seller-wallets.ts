import { findPayoutWallets } from '@market/contracts/identity';
import type { RequestOf } from '@market/contracts';
import type { MessageBus, RequestContext } from '@market/messaging';
import { GroupCommit } from '@market/persistence';
import { lookupCache } from '@market/runtime';

export type ChainType = RequestOf<typeof findPayoutWallets>['chainType'];

/** A seller that changes its wallet is paid to the new one after this time at the latest. */
const CACHE_TTL_MS = 2_000;
/** The number of concurrent requests, so that a slow one does not delay the others. */
const LANES = 4;

interface Asked {
  sellerId: string;
  context: RequestContext;
}

/** The payout wallets of sellers, requested from identity. Concurrent lookups share one request. */
export class SellerWallets {
  private readonly known: Record<ChainType, ReturnType<SellerWallets['wallets']>>;

  constructor(private readonly bus: Pick<MessageBus, 'request'>) {
    this.known = { evm: this.wallets('evm'), solana: this.wallets('solana') };
  }

  /** Returns the wallets in the order of `sellerIds`; null for a seller without one. */
  async find(
    sellerIds: readonly string[],
    chainType: ChainType,
    context: RequestContext,
    forceRefresh = false,
  ): Promise<(string | null)[]> {
    const known = this.known[chainType];
    const found = await Promise.all(sellerIds.map((sellerId) => known.forceFetch(sellerId, { context, forceRefresh })));
    return found.map((address) => address || null);
  }

  private wallets(chainType: ChainType) {
    const asking = new GroupCommit<Asked, string | false>((asked) => this.ask(asked, chainType), { lanes: LANES });
    return lookupCache<string | false, RequestContext>(CACHE_TTL_MS, (sellerId, context) =>
      asking.submit({ sellerId, context }),
    );
  }

  private async ask(asked: Asked[], chainType: ChainType): Promise<(string | false)[]> {
    const { payouts } = await this.bus.request(
      findPayoutWallets,
      { sellerIds: asked.map(({ sellerId }) => sellerId), chainType },
      asked[0]!.context,
    );
    return payouts.map((address) => address ?? false);
  }
}
