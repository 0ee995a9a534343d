import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { ChainType } from '../wallet-address.js';

export type WalletCapability = 'login' | 'recovery' | 'payer' | 'payout';

@Entity('wallets')
@Index('wallets_address', ['address'], { unique: true })
@Index('wallets_account_id', ['accountId'])
@Index('wallets_one_primary', ['accountId'], { unique: true, where: 'is_primary' })
@Index('wallets_one_default_payer', ['accountId'], { unique: true, where: 'is_default_payer' })
@Index('wallets_one_default_payout', ['accountId'], { unique: true, where: 'is_default_payout' })
@Check('wallets_chain_type', `chain_type IN ('evm', 'solana')`)
@Check('wallets_capabilities', `capabilities <@ ARRAY['login', 'recovery', 'payer', 'payout']`)
@Check('wallets_status', `status IN ('active', 'disabled')`)
export class WalletEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'wallets_pkey' })
  id: string;

  @Column('uuid', { name: 'account_id' })
  @ForeignKey('AccountEntity', { name: 'wallets_account' })
  accountId: string;

  @Column('text', { name: 'chain_type' })
  chainType: ChainType;

  /** In the form `parseWalletAddress` gives. */
  @Column('text')
  address: string;

  @Column('text', { nullable: true })
  label: string | null;

  @Column('boolean', { name: 'is_primary', default: false })
  isPrimary: boolean;

  @Column('boolean', { name: 'is_default_payer', default: false })
  isDefaultPayer: boolean;

  @Column('boolean', { name: 'is_default_payout', default: false })
  isDefaultPayout: boolean;

  @Column('text', { array: true })
  capabilities: WalletCapability[];

  @Column('text')
  status: 'active' | 'disabled';

  @Column('timestamptz', { name: 'verified_at', default: () => 'now()' })
  verifiedAt: Date;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
