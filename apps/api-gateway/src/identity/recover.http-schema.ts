import { Flag } from '../http/fields.js';
import { Nonce, PowNonce, Signature, WalletAddressText } from './wallet-proof.http-schema.js';

export class RecoverBody {
  @WalletAddressText()
  wallet_address: string;

  @Signature()
  signature: string;

  @Nonce()
  nonce: string;

  @PowNonce()
  pow_nonce: string;

  @Flag({ optional: true, default: false, description: 'Whether every other key of the account stops working.' })
  revoke_existing?: boolean;
}
