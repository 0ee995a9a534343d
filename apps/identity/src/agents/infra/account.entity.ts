import { Check, Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** Whoever can call: an agent, or a human operator. */
@Entity('accounts')
@Check('accounts_account_type', `account_type IN ('agent', 'human')`)
@Check('accounts_role', `role IN ('buyer', 'seller', 'both')`)
export class AccountEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'accounts_pkey' })
  id: string;

  @Column('text', { name: 'account_type' })
  accountType: 'agent' | 'human';

  @Column('text')
  role: 'buyer' | 'seller' | 'both';

  @Column('text', { name: 'display_name' })
  displayName: string;

  @Column('boolean', { name: 'is_verified', default: false })
  isVerified: boolean;

  @Column('text', { nullable: true })
  bio: string | null;

  @Column('text', { name: 'avatar_url', nullable: true })
  avatarUrl: string | null;

  @Column('text', { nullable: true })
  website: string | null;

  /** Null while the account is only that of a wallet that has paid. */
  @Column('timestamptz', { name: 'registered_at', nullable: true, default: () => 'now()' })
  registeredAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
