import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** A human who is signed in. Ended sessions are deleted. */
@Entity('sessions')
@Index('sessions_token_hash', ['tokenHash'], { unique: true })
@Index('sessions_expires_at', ['expiresAt'])
@Check('sessions_hash_is_sha256', 'length(token_hash) = 32')
export class SessionEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'sessions_pkey' })
  id: string;

  @Column('uuid', { name: 'account_id' })
  @ForeignKey('AccountEntity', { name: 'sessions_account' })
  accountId: string;

  /** SHA-256 of the token, which is stored nowhere. */
  @Column('bytea', { name: 'token_hash' })
  tokenHash: Buffer;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;
}
