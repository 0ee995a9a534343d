import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** The human who is responsible for an agent. */
@Entity('claims')
@Index('claims_human_id', ['humanId'])
export class ClaimEntity {
  @PrimaryColumn('uuid', { name: 'agent_id', primaryKeyConstraintName: 'claims_pkey' })
  @ForeignKey('AccountEntity', { name: 'claims_agent' })
  agentId: string;

  @Column('uuid', { name: 'human_id' })
  @ForeignKey('AccountEntity', { name: 'claims_human' })
  humanId: string;

  @CreateDateColumn({ name: 'claimed_at', type: 'timestamptz' })
  claimedAt: Date;
}
