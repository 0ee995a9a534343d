import type { ChallengePurpose } from '@market/contracts/identity';
import { Check, Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ChainType } from '../../wallets/wallet-address.js';

/** A challenge for one wallet and one purpose, which can be answered once. */
@Entity('challenges')
@Index('challenges_open', ['address'], { where: 'consumed_at IS NULL' })
@Index('challenges_expires_at', ['expiresAt'])
@Check('challenges_chain_type', `chain_type IN ('evm', 'solana')`)
export class ChallengeEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'challenges_pkey' })
  nonce: string;

  @Column('text')
  purpose: ChallengePurpose;

  @Column('text', { name: 'chain_type' })
  chainType: ChainType;

  @Column('text')
  address: string;

  @Column('bigint', { name: 'chain_id', nullable: true })
  chainId: string | null;

  @Column('uuid', { name: 'agent_id', nullable: true })
  agentId: string | null;

  @Column('uuid', { name: 'human_id', nullable: true })
  humanId: string | null;

  @Column('text', { name: 'pow_challenge' })
  powChallenge: string;

  @Column('smallint', { name: 'pow_difficulty' })
  powDifficulty: number;

  @CreateDateColumn({ name: 'issued_at', type: 'timestamptz' })
  issuedAt: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column('timestamptz', { name: 'consumed_at', nullable: true })
  consumedAt: Date | null;
}
