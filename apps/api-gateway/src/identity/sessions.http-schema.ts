import { Nonce, Signature, WalletAddressText } from './wallet-proof.http-schema.js';

export class OpenSessionBody {
  @WalletAddressText()
  wallet_address: string;

  @Signature()
  signature: string;

  @Nonce()
  nonce: string;
}
