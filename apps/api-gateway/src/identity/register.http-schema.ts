import { Text } from '../http/fields.js';
import { Nonce, PowNonce, Signature, WalletAddressText } from './wallet-proof.http-schema.js';

export class RegisterBody {
  @WalletAddressText()
  wallet_address: string;

  @Signature()
  signature: string;

  @Nonce()
  nonce: string;

  @PowNonce()
  pow_nonce: string;

  @Text({ min: 1, max: 100, optional: true, description: 'How others see the agent.' })
  display_name?: string;
}
