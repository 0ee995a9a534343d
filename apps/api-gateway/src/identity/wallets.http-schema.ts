import { walletCapability, walletStatus, type WalletCapability, type WalletStatus } from '@market/contracts/identity';
import { Flag, ListOf, ObjectOf, OneOf, Text } from '../http/fields.js';
import { Nonce, Signature, WalletAddressText } from './wallet-proof.http-schema.js';

export class WalletProofBody {
  @WalletAddressText()
  wallet_address: string;

  @Signature()
  signature: string;

  @Nonce()
  nonce: string;
}

const LABEL = { min: 1, max: 100, optional: true, description: 'How you tell your wallets apart.' };

export class LinkWalletBody {
  @ObjectOf(WalletProofBody, { description: 'An active wallet of the account with the capability recovery; purpose wallet_link.' })
  existing_wallet: WalletProofBody;

  @ObjectOf(WalletProofBody, { description: 'The wallet to be linked; purpose wallet_link.' })
  new_wallet: WalletProofBody;

  @Text(LABEL)
  label?: string;

  @ListOf(walletCapability.options, { optional: true, default: ['login', 'payer', 'payout'], description: 'What the new wallet may do.' })
  capabilities?: WalletCapability[];
}

export class UpdateWalletBody {
  @ObjectOf(WalletProofBody, { description: 'An active wallet of the account with the capability recovery; purpose wallet_update.' })
  proof: WalletProofBody;

  @Text({ ...LABEL, nullable: true })
  label?: string | null;

  @Flag({ optional: true, description: 'True makes this the primary wallet in place of the one that is.' })
  is_primary?: boolean;

  @Flag({ optional: true, description: 'True moves the default here, false leaves the account without one.' })
  is_default_payer?: boolean;

  @Flag({ optional: true, description: 'True moves the default here, false leaves the account without one.' })
  is_default_payout?: boolean;

  @ListOf(walletCapability.options, { optional: true, description: 'All that the wallet may do from now on.' })
  capabilities?: WalletCapability[];

  @OneOf(walletStatus.options, { optional: true })
  status?: WalletStatus;
}
