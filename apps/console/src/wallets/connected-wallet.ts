/** What can prove an address to the marketplace: it signs a message that its owner was shown. */
export interface ConnectedWallet {
  readonly address: string;
  sign(message: string): Promise<string>;
}

/** A wallet that may be connected; `icon` is a data: address that the wallet brings. */
export interface WalletChoice {
  readonly id: string;
  readonly name: string;
  readonly icon?: string;
  connect(): Promise<ConnectedWallet>;
}
