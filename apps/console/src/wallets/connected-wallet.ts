import type { EvmWallet } from '@market/sdk';

/** A wallet that can prove its address to the marketplace by signing a message that its owner was shown. */
export interface ConnectedWallet {
  readonly address: string;
  sign(message: string): Promise<string>;
  /** Signs a payment, where `canPay`. */
  readonly signTypedData?: EvmWallet['signTypedData'];
}

/** A wallet that can be connected; `icon` is a data: URL from the wallet. */
export interface WalletChoice {
  readonly id: string;
  readonly name: string;
  readonly icon?: string;
  readonly canPay?: boolean;
  connect(): Promise<ConnectedWallet>;
}
