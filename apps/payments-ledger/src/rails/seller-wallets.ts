import { findPayoutWallets } from '@market/contracts/identity';
import type { MessageBus, RequestContext } from '@market/messaging';
import { GroupCommit } from '@market/persistence';
import { lookupCache } from '@market/runtime';
import type { Address } from 'viem';

/** A seller that names another wallet is paid to it after this time at the latest. */
const CACHE_TTL_MS = 2_000;
/** Requests at once, so that a slow one holds up no others. */
const LANES = 4;

interface Asked {
  sellerId: string;
  context: RequestContext;
}

/** The EVM wallets that sellers are paid to, as identity knows them. Sellers that are asked for at the same time share one request. */
export class SellerWallets {
  private readonly asking: GroupCommit<Asked, Address | false>;
  private readonly known = lookupCache<Address | false, RequestContext>(CACHE_TTL_MS, (sellerId, context) =>
    this.asking.submit({ sellerId, context }),
  );

  constructor(private readonly bus: Pick<MessageBus, 'request'>) {
    this.asking = new GroupCommit((asked) => this.ask(asked), 128, LANES);
  }

  /** In the order asked; null for a seller without one. At most one bus request. */
  async find(sellerIds: readonly string[], context: RequestContext): Promise<(Address | null)[]> {
    const found = await Promise.all(sellerIds.map((sellerId) => this.known.forceFetch(sellerId, { context })));
    return found.map((address) => address || null);
  }

  private async ask(asked: Asked[]): Promise<(Address | false)[]> {
    const { payouts } = await this.bus.request(
      findPayoutWallets,
      { sellerIds: asked.map(({ sellerId }) => sellerId), chainType: 'evm' },
      asked[0]!.context,
    );
    return payouts.map((address) => (address as Address | null) ?? false);
  }
}
