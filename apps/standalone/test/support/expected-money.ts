const FEE_BPS = 500n;

/** The accounts of `GET /ledger` that this model keeps. */
export const accountsOf = {
  payments: (agentId: string) => `agent:${agentId}:payments`,
  received: (agentId: string, place: string) => `agent:${agentId}:received:${place}`,
  earnings: (agentId: string, place: string) => `agent:${agentId}:earnings:${place}`,
  fees: (agentId: string) => `agent:${agentId}:fees`,
  refunds: (agentId: string) => `agent:${agentId}:refunds`,
  owed: (agentId: string) => `agent:${agentId}:owed`,
};

/**
 * A model of the balance of every account and wallet, in micros, which are the base units of USDC. It is updated from
 * the answers that clients get.
 */
export class ExpectedMoney {
  private readonly accounts = new Map<string, bigint>();
  private readonly wallets = new Map<string, bigint>();

  /** The fee that is taken of a price. */
  static feeOf = (gross: bigint): bigint => (gross * FEE_BPS) / 10_000n;

  post(account: string, micros: bigint): void {
    this.accounts.set(account, (this.accounts.get(account) ?? 0n) + micros);
  }

  /** `null` stands for a wallet outside the model. */
  move(from: string | null, to: string | null, micros: bigint): void {
    if (from) this.wallets.set(from, this.inWallet(from) - micros);
    if (to) this.wallets.set(to, this.inWallet(to) + micros);
  }

  inWallet(wallet: string): bigint {
    return this.wallets.get(wallet) ?? 0n;
  }

  /** The accounts of an agent that are not at zero. */
  of(agentId: string): Record<string, bigint> {
    const own = [...this.accounts].filter(([name, micros]) => name.startsWith(`agent:${agentId}:`) && micros !== 0n);
    return Object.fromEntries(own);
  }
}
